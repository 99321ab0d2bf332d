// What is known of one instruction: short texts for rows, and blocks for the details below them.

const integerType = /^u\d+$/;

// A value's row in the data with its members' names.
function valueOf(
    [at, operand, type, count, invariance, invarianceBound, constant, top, contexts, callers]) {
    return {
        at,
        operand,
        type,
        count,
        invariance,
        invarianceBound,
        constant,
        top,
        contexts,
        callers: (callers || []).map(([chain, count, top]) => ({chain, count, top}))
    };
}

// In hexadecimal; empty for what is no single integer.
function hexOf(text, type) {
    return integerType.test(type) ? `0x${BigInt(text).toString(16)}` : '';
}

// Small integers, also negative ones, in decimal; likely addresses and masks in hexadecimal.
function shortValue([text], type) {
    const hex = hexOf(text, type);
    if (!hex) return text;
    const bits = Number(type.slice(1));
    let number = BigInt(text);
    if (bits >= 32 && number >> BigInt(bits - 1)) number -= 1n << BigInt(bits);
    return number > -100000n && number < 100000n ? String(number) : hex;
}

// Decimal and hexadecimal.
function valueTitle(text, type) { return [text, hexOf(text, type)].filter(Boolean).join('\n'); }

function valueText(value) {
    return value.top.length === 0 ? '' : shortValue(value.top[0], value.type);
}

// The lower bound of the invariance, if it is less than the invariance.
function lowerBound(value) {
    const bound = Math.floor(1000 * value.invarianceBound) / 1000;
    return percent(bound) === percent(value.invariance) ? '' : `\u2265 ${percent(bound)}`;
}

// Whether a value is worth showing beside its instruction: it is often the same but not constant by
// design.
function isTelling(value) { return !value.constant && value.invariance >= 0.3; }

// The most frequent values as parts of a bar. The share of all others is left blank.
function valueBar(value) {
    const parts =
        value.top.slice(0, 5).map(([, count], i) => [ratio(count, value.count), `value-${i}`]);
    return stackedBar(
        parts,
        value.top.slice(0, 5)
            .map((top) => `${shortValue(top, value.type)} ${percent(ratio(top[1], value.count))}`)
            .join('\n'));
}

function distribution(top, count, type) {
    const sum = top.reduce((all, [, each]) => all + each, 0);
    const rows = top.map((each) => {
        const [text, times, error] = each;
        return node(
            'tr', {},
            node(
                'td', {class: 'code number', title: valueTitle(text, type)},
                shortValue(each, type)),
            node(
                'td', {class: 'share'}, bar(ratio(times, count)),
                node('span', {class: 'percent'}, percent(ratio(times, count))),
                node('span', {class: 'margin'}, error > 0 ? margin(error / count) : '')),
            node('td', {class: 'number', title: exactCount(times)}, shortCount(times)));
    });
    if (count > sum && top.length > 0)
        rows.push(node(
            'tr', {class: 'rest'}, node('td', {class: 'number'}, 'others'),
            node(
                'td', {class: 'share'}, bar(ratio(count - sum, count), 'faint'),
                node('span', {class: 'percent'}, percent(ratio(count - sum, count)))),
            node('td', {class: 'number'}, shortCount(count - sum))));
    return node('table', {class: 'inner', 'aria-label': 'Values'}, node('tbody', {}, rows));
}

function callerChain(chain) {
    return chain.map((place, i) => [i === 0 ? 'from ' : ' \u2190 ', placeLink(place)]);
}

function valueDetails(value) {
    const callers = value.callers.map(
        (by) => node(
            'div', {class: 'block'},
            node('h4', {}, callerChain(by.chain), ` \u2014 ${counted(by.count, 'execution')}`),
            distribution(by.top, by.count, value.type)));
    const more = value.contexts > value.callers.length ?
        node('p', {class: 'faint'}, `and ${value.contexts - value.callers.length} callers more`) :
        '';
    return node(
        'div', {class: 'blocks'},
        node(
            'div', {class: 'block'},
            node('h4', {}, `${value.operand}: ${value.type}, ${counted(value.count, 'execution')}`),
            distribution(value.top, value.count, value.type)),
        callers, more);
}

const levelKinds = ['level-0', 'level-1', 'level-2', 'level-3'];
const patterns = [
    ['constant', 'the same address'], ['stride', 'a fixed distance further'],
    ['chase', 'where what was loaded points to'], ['irregular', 'elsewhere']
];

function levelNames() {
    const host = hasPart('loads') && part('loads').host;
    return host ? rowsOf(host.levels).map((each) => each.name) : [];
}

function levelShares(load) {
    const known = levelNames();
    const names = known.length ? known : Object.keys(load.levels);
    const all = load.timed + load.reused;
    // The last level is memory, however many levels there are.
    return names.map(
        (name, i) =>
            [ratio(load.levels[name] || 0, all),
             i === names.length - 1 && i > 0 ? 'level-3' : levelKinds[Math.min(i, 2)], name]);
}

function levelBar(load) {
    const shares = levelShares(load);
    return stackedBar(
        shares, shares.map(([share, , name]) => `${name} ${percent(share)}`).join('\n'));
}

function levelText(load) {
    return levelShares(load)
        .filter(([share]) => share > 0)
        .map(([share, , name]) => `${name} ${wholePercent(share)}`)
        .join(', ');
}

function mainLevel(load) {
    const [share, , name] =
        levelShares(load).reduce((most, each) => each[0] > most[0] ? each : most, [0, '', '']);
    return name ? `${name} ${wholePercent(share)}` : '';
}

function movesCount(moves) { return patterns.reduce((sum, [name]) => sum + moves[name], 0); }

function mainPattern(moves) {
    const [name] = patterns.reduce((most, each) => moves[each[0]] > moves[most[0]] ? each : most);
    return {name, share: ratio(moves[name], movesCount(moves))};
}

function movesText(moves) {
    if (movesCount(moves) === 0) return '';
    const {name, share} = mainPattern(moves);
    const by = name === 'stride' && moves.strides.length ? ` by ${moves.strides[0][0]}` : '';
    return `${name} ${wholePercent(share)}${by}`;
}

function movesBar(moves) {
    const all = movesCount(moves);
    return stackedBar(
        patterns.map(([name]) => [ratio(moves[name], all), `move-${name}`]),
        patterns.map(([name]) => `${name} ${percent(ratio(moves[name], all))}`).join('\n'));
}

function movesDetails(moves) {
    const all = movesCount(moves);
    if (all === 0) return '';
    return node(
        'div', {class: 'block'}, node('h4', {}, 'Its addresses, each against the one before'),
        node(
            'table', {class: 'inner'},
            node(
                'tbody', {},
                patterns.filter(([name]) => moves[name] > 0)
                    .map(
                        ([name, what]) => node(
                            'tr', {}, node('td', {}, name),
                            node(
                                'td', {class: 'share'}, bar(ratio(moves[name], all)),
                                node('span', {class: 'percent'}, percent(ratio(moves[name], all)))),
                            node('td', {class: 'faint'}, what))))),
        moves.strides.length ?
            node(
                'p', {}, 'Strides: ',
                moves.strides
                    .map(
                        ([by, count]) =>
                            `${by > 0 ? '+' : ''}${by} ${wholePercent(ratio(count, all))}`)
                    .join(', ')) :
            '');
}

// Bars over cycles, on a logarithmic axis.
function cycleHistogram(load) {
    const bins = load.histogram;
    if (bins.length === 0) return '';
    const width = 420, height = 90, left = 4;
    const low = Math.log2(Math.max(1, bins[0][0] * 0.8)),
          high = Math.log2(bins[bins.length - 1][0] * 1.3 + 1);
    const x = (cycles) =>
        left + (width - 2 * left) * (Math.log2(Math.max(1, cycles)) - low) / (high - low);
    const most = largest(bins, ([, count]) => count);
    const host = part('loads').host;
    const drawing = node('svg', {
        class: 'histogram',
        viewBox: `0 0 ${width} ${height + 16}`,
        width,
        height: height + 16,
        role: 'img',
        'aria-label': `cycles of timed loads, median ${load.median_cycles}`
    });
    for (const level of host ? rowsOf(host.levels) : []) {
        const at = x(level.from_cycles);
        if (level.from_cycles === 0 || at < left || at > width - left) continue;
        drawing.append(
            node('line', {x1: at, x2: at, y1: 0, y2: height, class: 'threshold'}),
            node('text', {x: at + 3, y: 10, class: 'axis'}, level.name));
    }
    for (const [cycles, count] of bins) {
        const tall = Math.max(1, (height - 14) * count / most);
        drawing.append(node(
            'rect', {x: x(cycles) - 2, y: height - tall, width: 4, height: tall, class: 'bin'},
            node('title', {}, `${cycles} cycles: ${exactCount(count)}`)));
    }
    drawing.append(node('line', {x1: 0, x2: width, y1: height, y2: height, class: 'axis-line'}));
    for (let power = Math.ceil(low); power <= high; ++power)
        drawing.append(node(
            'text', {x: x(2 ** power), y: height + 13, class: 'axis middle'}, String(2 ** power)));
    return drawing;
}

function loadDetails(load) {
    const all = load.timed + load.reused;
    const crossing = (count, what) =>
        count > 0 ? `; ${percent(ratio(count, all))} across ${what}` : '';
    return node(
        'div', {class: 'blocks'},
        node(
            'div', {class: 'block'},
            node(
                'h4', {},
                `Cycles of ${counted(load.timed, 'timed load')}, median ${
                    Math.round(load.median_cycles)}`),
            cycleHistogram(load), node('p', {}, levelBar(load), ' ', levelText(load)),
            node(
                'p', {class: 'faint'},
                `${shortCount(load.lost_cycles)} cycles lost` +
                    (load.reused > 0 ?
                         `; ${exactCount(load.reused)} more loads hit lines used just before` :
                         '') +
                    crossing(load.line_crossings, 'lines') +
                    crossing(load.page_crossings, 'pages'))),
        movesDetails(load.moves));
}

function hazardText(hazard) {
    return `${hazard.kind} ${percent(ratio(hazard.count, hazard.executions))}`;
}

// The targets of a branch, most frequent first.
function targetDetails({to, left, targets}, open) {
    const rows = to.map(
        ([place, kind, count]) => node(
            'tr', {}, node('td', {class: 'faint'}, kind),
            node(
                'td', {class: 'share'}, bar(ratio(count, left)),
                node('span', {class: 'percent'}, percent(ratio(count, left)))),
            node('td', {class: 'number', title: exactCount(count)}, shortCount(count)),
            node('td', {class: 'place'}, open ? open(place) : placeLink(place)),
            node('td', {class: 'source'}, sourceName(profile.place(place)))));
    return node(
        'div', {class: 'block'}, node('h4', {}, counted(targets, 'target')),
        node('table', {class: 'inner', 'aria-label': 'Targets'}, node('tbody', {}, rows)),
        targets > to.length ?
            node('p', {class: 'faint'}, `and ${exactCount(targets - to.length)} more`) :
            '');
}
