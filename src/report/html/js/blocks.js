// Blocks of facts and small tables.

function facts(title, rows) {
    const list = node('dl', {});
    for (const [name, ...content] of rows)
        if (content.some((each) => each !== '' && each !== null && each !== undefined))
            list.append(node('dt', {}, name), node('dd', {}, content));
    return node('section', {class: 'facts'}, node('h3', {}, title), list);
}

function smallTable(title, heads, rows, kind = '') {
    return node(
        'section', {class: `small-table ${kind}`}, node('h3', {}, title),
        node(
            'table', {class: 'list small', 'aria-label': title},
            node(
                'thead', {},
                node(
                    'tr', {},
                    heads.map(([head, place]) => node('th', {scope: 'col', class: place}, head)))),
            node(
                'tbody', {},
                rows.map(
                    (row) => node(
                        'tr', {}, row.map((cell, i) => node('td', {class: heads[i][1]}, cell)))))));
}
