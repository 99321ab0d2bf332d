// Branches and calls.

function branchOutcome(branch) {
    if (branch.kind === 'conditional')
        return [
            bar(ratio(branch.taken, branch.count), 'taken'),
            node('span', {class: 'percent'}, percent(ratio(branch.taken, branch.count))), ' taken'
        ];
    const [place, , count] = branch.to[0];
    if (branch.targets === 1) return ['\u2192 ', placeLink(place)];
    return [
        `${exactCount(branch.targets)} targets, ${percent(ratio(count, branch.count))} \u2192 `,
        placeLink(place)
    ];
}

function showBranches(container) {
    const data = part('branches');
    const of = (branch) => branch.from;
    showTable(container, 'Branches', shownText(data, 'branches', 'their executions'), {
        rows: rowsOf(data.branches),
        text: (branch) => `${branch.kind} ${placeText(branch.from)}`,
        details: (branch) =>
            targetDetails({to: branch.to, left: branch.count, targets: branch.targets}),
        columns: [
            column.share(
                'Share', (branch) => ratio(branch.count, data.sum),
                (branch) => branch.error === null ? null : ratio(branch.error, data.sum),
                'of all executions of branches', ratio(data.branches.rows[0][2], data.sum)),
            column.count('Executions', (branch) => branch.count),
            column.place('Branch', of),
            column.instruction(of),
            {
                title: 'Kind',
                class: 'faint',
                rising: true,
                value: (branch) => branch.kind,
                cell: (branch) => branch.kind
            },
            {
                title: 'Outcome',
                class: 'outcome',
                hint: 'sorts by how hard it is to foresee',
                value: (branch) => branch.kind === 'conditional' ?
                    Math.min(branch.taken, branch.count - branch.taken) :
                    branch.count - branch.to[0][2],
                cell: branchOutcome
            },
            column.source(of),
        ],
    });
}

function showCalls(container) {
    const data = part('calls');
    const site = (call) => call.site;
    showTable(container, 'Calls', shownText(data, 'pairs of call and callee', 'the calls'), {
        rows: rowsOf(data.calls),
        text: (call) => `${placeText(call.site)} ${placeText(call.callee)}`,
        columns: [
            column.share(
                'Share', (call) => ratio(call.count, data.sum),
                (call) => call.error === null ? null : ratio(call.error, data.sum), 'of all calls',
                ratio(data.calls.rows[0][2], data.sum)),
            column.count('Calls', (call) => call.count),
            column.place('Call', site),
            column.place('Callee', (call) => call.callee),
            column.instruction(site),
            column.source(site),
        ],
    });
}
