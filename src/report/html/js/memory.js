// Load latencies, hazards, address patterns and data streams.

function levelLegend(host) {
    if (!host) return '';
    const levels = rowsOf(host.levels);
    return node(
        'span', {class: 'legend'},
        levels.map(
            (level, i) =>
                [node('span', {
                     class: `swatch ${
                         i === levels.length - 1 && i > 0 ? 'level-3' : levelKinds[Math.min(i, 2)]}`
                 }),
                 node(
                     'span', {
                         title: `from ${level.from_cycles} cycles; ${
                             percent(
                                 level.accuracy)} of loads known to be of it are taken for it`
                     },
                     `${level.name} ${Math.round(level.median_cycles)} cycles`)]));
}

function showLoads(container) {
    const data = part('loads');
    const all = data.loads.reduce((sum, load) => sum + load.lost_cycles, 0);
    const of = (load) => load.at;
    const left =
        [shownText(data, 'loads', 'the cycles lost to misses'), ' ', levelLegend(data.host)];
    showTable(container, 'Load latencies', left, {
        rows: data.loads,
        text: (load) => placeText(load.at),
        details: loadDetails,
        columns: [
            column.share(
                'Lost', (load) => ratio(load.lost_cycles, all), () => undefined,
                'cycles beyond those of a hit'),
            column.count('Cycles', (load) => load.lost_cycles),
            column.count(
                'Loads', (load) => load.timed + load.reused,
                'timed, and hits of lines used just before'),
            column.place('Load', of),
            column.instruction(of),
            {
                title: 'Levels',
                class: 'levels',
                value: (load) => 1 - (levelShares(load)[0] || [0])[0],
                cell: (load) => [levelBar(load), node('span', {class: 'text'}, levelText(load))]
            },
            {
                title: 'Median',
                number: true,
                hint: 'cycles of timed loads',
                value: (load) => load.median_cycles,
                cell: (load) => load.timed ? String(Math.round(load.median_cycles)) : ''
            },
            {
                title: 'Pattern',
                value: (load) => mainPattern(load.moves).name,
                rising: true,
                cell: (load) => movesText(load.moves)
            },
            column.source(of),
        ],
    });
}

function showHazards(container) {
    const data = part('hazards');
    const of = (hazard) => hazard.second;
    showTable(container, 'Memory hazards', shownText(data, 'hazards', 'their executions'), {
        rows: rowsOf(data.hazards),
        sorted: 1,
        text: (hazard) => `${hazard.kind} ${placeText(hazard.second)} ${
            hazard.first === null ? '' : placeText(hazard.first)}`,
        columns: [
            column.share(
                'Share', (hazard) => ratio(hazard.count, hazard.executions), () => undefined,
                'of the access\u2019s executions'),
            column.count('Executions', (hazard) => hazard.count),
            {
                title: 'Kind',
                rising: true,
                value: (hazard) => hazard.kind,
                cell: (hazard) => hazard.kind
            },
            column.place('Access', of),
            column.instruction(of),
            column.source(of),
            {
                title: 'Behind the store',
                class: 'place',
                cell: (hazard) => hazard.first === null ? '' : placeLink(hazard.first)
            },
        ],
    });
}

function showAddresses(container) {
    const data = part('addresses');
    const of = (row) => row.at;
    const unforeseeable = ({moves}) => moves.chase + moves.irregular;
    const left = [
        shownText(data, 'loads', 'their executions'), ' ',
        node(
            'span', {class: 'legend'},
            patterns.map(
                ([name, what]) =>
                    [node('span', {class: `swatch move-${name}`}),
                     node('span', {title: what}, name)]))
    ];
    showTable(container, 'Addresses', left, {
        rows: rowsOf(data.addresses),
        text: (row) => `${mainPattern(row.moves).name} ${placeText(row.at)}`,
        details: (row) => node('div', {class: 'blocks'}, movesDetails(row.moves)),
        columns: [
            column.count(
                'Unforeseeable', unforeseeable, 'chased or irregular: no prefetcher knows them'),
            column.count('Executions', ({moves}) => movesCount(moves)),
            column.place('Load', of),
            column.instruction(of),
            {
                title: 'Pattern',
                class: 'levels',
                value: ({moves}) => mainPattern(moves).name,
                rising: true,
                cell:
                    ({moves}) => [movesBar(moves), node('span', {class: 'text'}, movesText(moves))]
            },
            column.source(of),
        ],
    });
}

function streamDetails(stream) {
    const rows = stream.references.map(
        ([place, address]) => node(
            'tr', {}, node('td', {class: 'code number'}, address),
            node('td', {class: 'place'}, placeLink(place)),
            node('td', {class: 'code'}, profile.place(place).text),
            node('td', {class: 'source'}, sourceName(profile.place(place)))));
    return node(
        'div', {class: 'block'},
        node('table', {class: 'inner', 'aria-label': 'References'}, node('tbody', {}, rows)),
        stream.length > rows.length ?
            node('p', {class: 'faint'}, `and ${stream.length - rows.length} more`) :
            '');
}

function showStreams(container) {
    const data = part('streams');
    const heat = (stream) => stream.occurrences * stream.length;
    const functions =
        (stream) => [...new Set(stream.references.map(([place]) => profile.place(place).function))];
    showTable(container, 'Data streams', shownText(data, 'streams', 'their references'), {
        rows: rowsOf(data.streams),
        details: streamDetails,
        text: (stream) => functions(stream).map((each) => each.full).join(' '),
        columns: [
            column.share(
                'Share', (stream) => ratio(heat(stream), data.references), () => undefined,
                'of all references'),
            column.count('Times', (stream) => stream.occurrences),
            column.count('References', (stream) => stream.length, 'of one occurrence'),
            {
                title: 'In',
                class: 'place',
                cell: (stream) =>
                    functions(stream).map((each, i) => [i ? ', ' : '', functionLink(each)])
            },
        ],
    });
}
