// The page of a diff: what changed in all, and a view for each table.

const diff = printablePart('diff');
const diffWords = part('words');

// A part in which control characters are replaced by '?', as in the text format.
function printablePart(name) {
    const controls = /[\u0000-\u001f\u007f-\u009f]/g;
    return JSON.parse(
        byId(`data-${name}`).textContent,
        (key, value) => typeof value === 'string' ? value.replace(controls, '?') : value);
}

const findingWords = {
    changed: 'changed',
    new: 'new',
    gone: 'gone',
    noise: 'noise',
    same: 'the same',
    unjudged: 'error not known'
};

function isChange(entry) { return ['changed', 'new', 'gone'].includes(entry.finding); }

function quantity(unit, value) {
    return unit === 'share' ? `${(100 * value).toFixed(2)}%` : exactCount(value);
}

function signed(text, number) { return number > 0 ? `+${text}` : text.replace('-', '\u2212'); }

// "+1.88 \u00b1 0.21" points of a share, or "+1234".
function changeText(unit, {difference, difference_error: error}) {
    const text = unit === 'share' ? (100 * difference).toFixed(2) : exactCount(difference);
    return signed(text, difference) + (error > 0 ? ` \u00b1 ${(100 * error).toFixed(2)}` : '');
}

function relativeText({relative}) {
    return relative === null ? '' : signed(`${(100 * relative).toFixed(2)}%`, relative);
}

// What the colour says: more, less, or nothing.
function direction(difference, counts) {
    return !counts || difference === 0 ? 'faint' : difference > 0 ? 'more' : 'less';
}

// A bar from the middle, to the right for more. A difference of `most` fills its half.
function changeBar(difference, most, kind) {
    const share = 50 * Math.min(1, ratio(Math.abs(difference), most));
    const part = node('span', {class: `bar-part ${kind}`});
    part.style.width = `${share}%`;
    part.style.marginLeft = `${difference > 0 ? 50 : 50 - share}%`;
    return node('span', {class: 'bar change', 'aria-hidden': 'true'}, part);
}

function sideText(unit, side) {
    if (side === null) return 'not in the profile';
    const error = side.error > 0 ? ` \u00b1 ${quantity(unit, side.error)}` : '';
    return `${quantity(unit, side.value)}${error}`;
}

function entryDetails(unit, entry) {
    return facts('', [
        ['Name', node('code', {}, entry.name)],
        ['Detail', entry.detail],
        ['Source', entry.source],
        ['Module', shownModule(entry.module)],
        ['Compared by', entry.matched_by],
        ['Base', sideText(unit, entry.base)],
        ['New', sideText(unit, entry.new)],
        ['Change', `${changeText(unit, entry)}, ${findingWords[entry.finding]}`],
    ]);
}

function entryColumns(table, entries, byFunction) {
    const {unit} = table;
    const most = largest(entries, (entry) => Math.abs(entry.difference));
    const number = (title, value, cell, hint) => ({title, hint, number: true, value, cell});
    const valueOf = (side) => side === null ? 0 : side.value;
    const where = (entry) =>
        [entry.source, baseName(shownModule(entry.module))].filter(Boolean).join(', ');
    const detail = {
        title: 'Detail',
        class: 'code',
        rising: true,
        value: (entry) => entry.detail,
        cell: (entry) => entry.detail
    };
    return [
        {
            title: 'Finding',
            hint: 'sorts by what matters most, as the terminal does',
            rising: true,
            value: (entry) => entry.rank,
            cell: (entry) => node(
                'span', {class: direction(entry.difference, isChange(entry))},
                findingWords[entry.finding])
        },
        {
            title: '',
            class: 'share change',
            cell: (entry) =>
                changeBar(entry.difference, most, direction(entry.difference, isChange(entry)))
        },
        number(
            unit === 'share' ? 'Points' : 'Change', (entry) => entry.difference,
            (entry) => node(
                'span', {class: direction(entry.difference, isChange(entry))},
                changeText(unit, entry)),
            'with half the width of the 95% confidence interval'),
        number(
            'Relative', (entry) => entry.relative === null ? Infinity : entry.relative,
            relativeText, 'the change as a share of BASE'),
        number(
            'Base', (entry) => valueOf(entry.base), (entry) => quantity(unit, valueOf(entry.base))),
        number('New', (entry) => valueOf(entry.new), (entry) => quantity(unit, valueOf(entry.new))),
        {
            title: 'Name',
            class: byFunction ? 'place main' : 'place',
            rising: true,
            value: (entry) => entry.name,
            cell: (entry) => shortName(entry.name, abbreviated(entry.shown))
        },
        ...(entries.some((entry) => entry.detail !== '') ? [detail] : []),
        {
            title: 'In',
            class: 'source',
            rising: true,
            value: where,
            cell: (entry) => node('span', {title: shownModule(entry.module)}, where(entry))
        },
    ];
}

function showDiffTable(container, {name, title, counts, names, by_function: byFunction}) {
    const table = diff[name];
    const rows = table.entries.map((entry, rank) => ({...entry, rank, shown: names[rank]}));
    const cut = rows.length < table.compared ?
        `; the first ${exactCount(rows.length)} of ${exactCount(table.compared)}` :
        '';
    showTable(container, title, counts + cut, {
        rows,
        text: (entry) => `${entry.name} ${shownModule(entry.module)} ${entry.source} ${entry.detail} ${
            findingWords[entry.finding]}`,
        details: (entry) => entryDetails(table.unit, entry),
        columns: entryColumns(table, rows, byFunction),
    });
}

function sideFacts(title, name) {
    const side = diff[name];
    return facts(title, [['File', node('code', {}, side.path)], ['Profile', diffWords[name]]]);
}

// What a limit found: the entries beyond it, or the nearest one.
function limitReasons({entries}, words) {
    if (entries.length === 0) return words;
    const most = 5;
    const lines = entries.slice(0, most).map((entry) => {
        const {name, unit, base, new: next} = entry;
        return node(
            'div', {}, node('code', {}, shortName(name)),
            ` ${relativeText(entry)} (${quantity(unit, base)} \u2192 ${quantity(unit, next)}${
                unit === 'share' ? '' : ` ${unit}`})`);
    });
    const more = entries.length - lines.length;
    return more > 0 ? [...lines, node('div', {}, `and ${exactCount(more)} more`)] : lines;
}

function limitTable() {
    if (diff.limits.length === 0) return '';
    return smallTable(
        'Limits', [['Limit', 'code'], ['Verdict', ''], ['Because', 'prose']],
        diff.limits.map(
            (each, i) =>
                [each.limit,
                 node('b', {class: each.verdict === 'exceeded' ? 'more' : ''}, each.verdict),
                 limitReasons(each, diffWords.limits[i])]));
}

// Whether a table has a view of its own.
function hasView({name}) { return Boolean(diff[name]) && diff[name].entries.length > 0; }

function tablesInShort() {
    const named = (table) =>
        hasView(table) ? node('a', {href: `#view=${table.name}`}, table.title) : table.title;
    return smallTable(
        'Compared', [['Table', 'prose'], ['Of its entries', 'prose']],
        diffWords.tables.map(
            (table) => table.missing ?
                [table.title, node('span', {class: 'faint'}, `not compared: ${table.missing}`)] :
                [named(table), table.counts]));
}

function totalRows() {
    return diff.totals.map(
        (total, rank) =>
            ({...total, rank, relative: total.base > 0 ? total.difference / total.base : null}));
}

function totalTable() {
    const changed = totalRows().filter(({difference}) => difference !== 0);
    if (diff.totals.length === 0) return '';
    if (changed.length === 0)
        return node(
            'p', {}, `All ${exactCount(diff.totals.length)} totals of the runs are the same.`);
    return smallTable(
        'Totals that changed',
        [
            ['Total', 'code'], ['Base', 'number'], ['New', 'number'], ['Change', 'number'],
            ['', 'number']
        ],
        changed.slice(0, 20).map(({name, base, new: next, difference, relative}) => {
            const kind = direction(difference, true);
            return [
                name, exactCount(base), exactCount(next),
                node('span', {class: kind}, signed(exactCount(difference), difference)),
                node('span', {class: kind}, relativeText({relative}))
            ];
        }));
}

function showDiffOverview(container) {
    container.append(
        node('h2', {}, 'Difference'),
        node('div', {class: 'columns'}, sideFacts('Base', 'base'), sideFacts('New', 'new')),
        limitTable(), totalTable(), tablesInShort(),
        diffWords.matching.length === 0 ?
            '' :
            node(
                'section', {}, node('h3', {}, 'How code was compared'),
                node('ul', {}, diffWords.matching.map((words) => node('li', {}, words)))),
        diff.notes.length === 0 ?
            '' :
            node(
                'section', {class: 'notes'}, node('h3', {}, 'Notes'),
                node('ul', {}, diff.notes.map((note) => node('li', {}, note)))),
        node(
            'p', {class: 'legend'}, node('span', {class: 'swatch more'}), 'more than BASE',
            node('span', {class: 'swatch less'}), 'less than BASE',
            node('span', {class: 'swatch faint'}), 'noise, the same, or of unknown error'));
}

function showTotals(container) {
    const rows = totalRows();
    const number = (title, value, cell) => ({title, number: true, value, cell});
    showTable(container, 'Totals', 'numbers for the whole runs', {
        rows,
        text: (total) => total.name,
        columns: [
            {
                title: 'Total',
                class: 'place',
                rising: true,
                value: (total) => total.rank,
                cell: (total) => total.name
            },
            number('Base', (total) => total.base, (total) => exactCount(total.base)),
            number('New', (total) => total.new, (total) => exactCount(total.new)),
            number(
                'Change', (total) => total.difference,
                (total) => node(
                    'span', {class: direction(total.difference, true)},
                    signed(exactCount(total.difference), total.difference))),
            number(
                'Relative', (total) => total.relative === null ? Infinity : total.relative,
                relativeText),
        ],
    });
}

// "L1 misses": how limits call the tables.
function tableWord(name) { return `${name[0].toUpperCase()}${name.slice(1).replace('_', ' ')}`; }

function diffViews() {
    const tables = diffWords.tables.filter(hasView);
    return [
        {key: 'overview', title: 'Overview', show: showDiffOverview},
        ...(diff.totals.length ? [{key: 'totals', title: 'Totals', show: showTotals}] : []),
        ...tables.map((table) => ({
                          key: table.name,
                          title: tableWord(table.name),
                          show: (container) => showDiffTable(container, table)
                      })),
    ];
}

function drawDiffHead() {
    const names = `${diff.base.path} \u2192 ${diff.new.path}`;
    document.title =
        `${baseName(diff.base.path)} \u2192 ${baseName(diff.new.path)} \u2013 shadowprof`;
    byId('command').textContent = names;
    byId('command').title = names;
    byId('headline').textContent = `compared by ${diff.compared_as}`;
    byId('search-box').remove();
}

drawDiffHead();
showPage(diffViews(), [
    ['1 to 9, a, b', 'the views, as the letters beside them say'],
    ['j, k or \u2193, \u2191', 'next and previous row'],
    ['Enter', 'open the row: its full name, and both sides with their errors'],
    ['f', 'filter the list'],
    ['Esc', 'clear the filter, close the row'],
    ['?', 'this help'],
]);
