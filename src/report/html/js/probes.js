// The results of probes.

function datumNode(datum) {
    return typeof datum === 'number' ? placeLink(datum) :
        datum === null               ? '' :
                                       node('span', {class: 'code'}, datum);
}

// A bar for each power of two in ascending order, and a text for the fullest ones.
function bucketBars(buckets, count) {
    const wide = 14, height = 44, most = largest(buckets, ([, times]) => times);
    const words = ([range, times]) => `${range} ${percent(ratio(times, count))}`;
    const fullest = [...buckets].sort(([, a], [, b]) => b - a).slice(0, 4);
    const width = buckets.length * wide;
    return node(
        'div', {class: 'buckets'},
        node(
            'svg', {
                class: 'histogram',
                viewBox: `0 0 ${width} ${height}`,
                width,
                height,
                role: 'img',
                'aria-label': buckets.map(words).join(', ')
            },
            buckets.map((bucket, i) => {
                const tall = Math.max(1, (height - 1) * bucket[1] / most);
                return node(
                    'g', {}, node('title', {}, words(bucket)),
                    node('rect', {x: i * wide, y: 0, width: wide, height, class: 'no-bin'}),
                    node('rect', {
                        x: i * wide,
                        y: height - tall,
                        width: wide - 2,
                        height: tall,
                        class: 'bin'
                    }));
            })),
        node(
            'span', {class: 'faint'}, fullest.map(words).join(', '),
            buckets.length > fullest.length ? ', \u2026' : ''));
}

function topBars(top, count) {
    return node(
        'table', {class: 'inner', 'aria-label': 'Values'},
        node(
            'tbody', {},
            top.map(
                ([value, times, error]) => node(
                    'tr', {}, node('td', {class: 'number'}, datumNode(value)),
                    node(
                        'td', {class: 'share'}, bar(ratio(times, count)),
                        node('span', {class: 'percent'}, percent(ratio(times, count))),
                        node('span', {class: 'margin'}, error > 0 ? margin(error / count) : '')),
                    node('td', {class: 'number'}, shortCount(times))))));
}

function probeEntry(probe, entry) {
    const what = entry.buckets ?
        [
            node(
                'div', {},
                `${entry.least} to ${entry.most}, mean ${Number(entry.mean.toPrecision(4))}`),
            bucketBars(entry.buckets, entry.count)
        ] :
        entry.top               ? topBars(entry.top, entry.count) :
        entry.sum !== undefined ? `sum ${entry.sum}, mean ${Number(entry.mean.toPrecision(6))}` :
                                  '';
    return node(
        'tr', {'data-row': true, tabindex: -1},
        node(
            'td', {class: 'share'}, bar(ratio(entry.count, probe.hits)),
            node('span', {class: 'percent'}, percent(ratio(entry.count, probe.hits)))),
        node('td', {class: 'number', title: exactCount(entry.count)}, shortCount(entry.count)),
        probe.keyed ? node('td', {class: 'place'}, datumNode(entry.key)) : '',
        node('td', {}, what));
}

function showProbes(container) {
    container.append(node('h2', {}, 'Probes'));
    for (const probe of part('probes').probes) {
        const missed = [[probe.missed, 'missed'], [probe.left_out, 'left out']]
                           .filter(([count]) => count > 0)
                           .map(([count, what]) => `, ${shortCount(count)} ${what}`)
                           .join('');
        const rows = probe.entries.map((entry) => probeEntry(probe, entry));
        if (rows.length) rows[0].tabIndex = 0;
        container.append(node(
            'section', {},
            node(
                'h3', {}, probe.name,
                node(
                    'span', {class: 'faint'},
                    ` ${probe.reducer}, ${counted(probe.hits, 'hit')}${missed}`)),
            node('pre', {class: 'probe'}, probe.text),
            node(
                'table', {class: 'list small', 'aria-label': probe.name},
                node(
                    'thead', {},
                    node(
                        'tr', {}, node('th', {scope: 'col', class: 'share'}, 'Share'),
                        node('th', {scope: 'col', class: 'number'}, 'Hits'),
                        probe.keyed ? node('th', {scope: 'col'}, 'By') : '',
                        node('th', {scope: 'col'}, 'Seen'))),
                node('tbody', {}, rows)),
            probe.total > rows.length ?
                node(
                    'p', {class: 'faint'},
                    `and ${exactCount(probe.total - rows.length)} keys more`) :
                ''));
    }
}
