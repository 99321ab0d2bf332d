// Kinds of profiles without a view of their own, as tables of their fields.

// A row begins with the number that it is sorted by. A cell for each column follows.
function kindColumn({name, type}, index) {
    const title = `${name[0].toUpperCase()}${name.slice(1).replaceAll('_', ' ')}`;
    const cell = (row) => row[index + 1];
    if (type === 'place')
        return {
            title,
            class: 'place',
            rising: true,
            value: (row) => cell(row) === null ? '' : placeText(cell(row)),
            cell: (row) => cell(row) === null ? '' : placeLink(cell(row))
        };
    if (type === 'count')
        return {
            title,
            number: true,
            value: (row) => cell(row) || 0,
            cell: (row) => cell(row) === null ? '' : exactCount(cell(row))
        };
    if (type === 'text') return {title, rising: true, value: cell, cell};
    return {
        title,
        class: 'place',
        cell: (row) => cell(row).map((place, i) => [i === 0 ? '' : ' < ', placeLink(place)])
    };
}

function kindRowText(table, row) {
    return table.columns
        .map(({type}, i) => {
            const cell = row[i + 1];
            if (type === 'place') return cell === null ? '' : placeText(cell);
            if (type === 'places') return cell.map(placeText).join(' ');
            return cell === null ? '' : String(cell);
        })
        .join(' ');
}

function showKind(container, table) {
    const columns = table.columns.map(kindColumn);
    const {sum, plural, costs, is_time: isTime} = table;
    const shown = shownText(table, plural, costs ? 'the cost' : 'all of them');
    showTable(container, table.title, costs ? `${shown}; by ${costs}` : shown, {
        rows: table.rows,
        text: (row) => kindRowText(table, row),
        columns: [
            column.share(
                'Share', (row) => ratio(row[0], sum), () => undefined,
                costs ? `of the cost of all ${plural}` : `of all ${plural}`),
            ...isTime ? [{
                title: 'Time',
                number: true,
                value: (row) => row[0],
                cell: (row) => duration(row[0] / 1e9)
            }] : [],
            ...columns.filter((each, i) => !['error', 'time_ns'].includes(table.columns[i].name)),
        ],
    });
}

function kindViews() {
    if (!hasPart('kinds')) return [];
    return part('kinds').tables.map((table) => ({
        key: `kind-${table.word}`,
        title: table.title,
        show: (container) => showKind(container, table),
        has: () => true
    }));
}
