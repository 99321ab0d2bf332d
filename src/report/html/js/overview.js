// What ran, what was sampled, the costs, and the hottest items.

function mostFrequent(counts, most = 6) {
    const list =
        Object.entries(counts).filter(([, count]) => count > 0).sort(([, a], [, b]) => b - a);
    return list.slice(0, most).map(([name, count]) => `${name} ${shortCount(count)}`).join(', ') +
        (list.length > most ? ', ...' : '');
}

function runFacts({run, version}) {
    const merged = run.merged_runs !== 1;
    return facts('Run', [
        ['Command', node('code', {}, run.command.join(' ') || '(no command)')],
        [
            'Ended',
            merged ? `${counted(run.merged_runs, 'run')} together` : run.ended || 'still running'
        ],
        ['Time', `${duration(run.seconds)}${merged ? ' in all' : ''}, from ${run.started}`],
        ['Process', merged ? '' : String(run.pid)],
        [
            'Machine',
            [run.cpu, run.cores ? counted(run.cores, 'core') : '', run.kernel].filter(Boolean).join(
                ', ')
        ],
        ['Seed', run.seed],
        ['Profiler', `shadowprof ${version}`],
    ]);
}

function convergenceText(convergence) {
    if (!convergence) return '';
    const error = percent((convergence.error_percent || 0) / 100);
    const again = convergence.taken_up_again ? 'again ' : '';
    if (convergence.reached)
        return `${again}after ${counted(convergence.samples || 0, 'sample')}, ${
                   duration(convergence.seconds || 0)}: ` +
            `hot edges are certain to ${error}`;
    if (convergence.error_percent === null) return 'too few samples to tell errors';
    return `not reached: hot edges are certain to ${error}, not ${
        percent(convergence.limit_percent / 100)}`;
}

function burstText(bursts) {
    if (!bursts) return '';
    const lengths =
        Object.entries(bursts.lengths).map(([kind, length]) => `${kind} ${length}`).join(', ');
    const when =
        bursts.every === 0 ? 'of several settings' : `every ${bursts.every} ${bursts.events}`;
    return `${counted(bursts.count, 'burst')} ${when}${lengths ? `, for ${lengths}` : ''}; ` +
        `${shortCount(bursts.events_counted)} events`;
}

function sampledFacts({sampling}) {
    const {exact, target_instructions: target} = sampling;
    const part =
        target ? `, ${percent(sampling.instructions / target)} of ${shortCount(target)}` : '';
    return facts('Sampled', [
        ['Samples', `${exactCount(sampling.samples)}; ended by ${mostFrequent(sampling.ended)}`],
        ['Instructions', `${shortCount(sampling.instructions)}${part}`],
        ['Mode', sampling.mode || 'unknown'],
        ['Intervals', exact ? `${shortCount(exact.intervals)}, ${exact.diverged} diverged` : ''],
        ['Not to the end', exact ? exact.stopped_early : ''],
        ['Converged', convergenceText(sampling.convergence)],
        ['Bursts', burstText(sampling.bursts)],
        [
            'Single-stepped',
            sampling.single_stepped ? counted(sampling.single_stepped, 'instruction') : ''
        ],
        ['Changed while it ran', sampling.changes ? counted(sampling.changes, 'time') : ''],
    ]);
}

function costFacts({cost, sampling}) {
    const allowed =
        cost.budget_percent > 0 ? ` of ${percent(cost.budget_percent / 100)} allowed` : '';
    const stops = exactCount(cost.stops);
    // If everything was emulated, pauses were not measured.
    const measured = sampling.exact ? [
        ['Slowdown', 'not measured: every instruction was emulated'],
        ['Stops', stops],
    ] : [
        ['Slowdown', `about ${percent(cost.slowdown_percent / 100)}${allowed}`],
        ['Stops', `${stops}, ${duration(cost.stopped_seconds)} in all`],
        [
            'Pause',
            `p50 ${duration(cost.pause_p50_us / 1e6)}, p99 ${duration(cost.pause_p99_us / 1e6)}, ` +
                `longest ${duration(cost.pause_max_us / 1e6)}`
        ],
    ];
    return facts('Cost', [
        ...measured,
        [
            'Forks',
            cost.forks ?
                `${exactCount(cost.forks)}, ${counted(cost.induced_faults, 'fault')} induced` :
                ''
        ],
        [
            'Profiler',
            `${duration(cost.profiler_cpu_seconds)} of processor time, ` +
                `${duration(sampling.emulation_seconds)} of it emulation`
        ],
    ]);
}

function shareCell(share, error, most) {
    return [
        bar(ratio(share, most)), node('span', {class: 'percent'}, percent(share)),
        node('span', {class: 'margin'}, margin(error))
    ];
}

// Findings, ranked by the most that they can gain.
function findings() {
    const {findings, total} = part('findings');
    if (findings.length === 0) return '';
    const most = largest(findings, (each) => each.at_stake);
    const more = total > findings.length ? `, the first ${findings.length} of ${total}` : '';
    return smallTable(
        `Findings, by what is at stake at most; those in the system's libraries last${more}`,
        [['At stake', 'share'], ['Finding', ''], ['At', 'place'], ['Holds for', 'number'],
         ['Evidence', '']],
        findings.map(
            (each) =>
                [[bar(ratio(each.at_stake, most)), each.stake],
                 [
                     node('b', {}, `${each.kind}: `), node('code', {}, shortName(each.what)),
                     node('br', {}), each.advice
                 ],
                 placeLink(each.at), `${percent(each.share)} or more`,
                 each.evidence.map((line) => node('div', {}, line))]),
        'wide findings');
}

function hottestFunctions() {
    const hot = profile.hottest().slice(0, 12);
    if (hot.length === 0) return '';
    return smallTable(
        `Hottest functions, by ${profile.unit}`,
        [
            ['Share', 'share'], [profile.unit === 'time' ? 'Time' : 'Count', 'number'],
            ['Function', 'place'], ['Module', 'module']
        ],
        hot.map(
            (each) => [shareCell(each.share, each.error, hot[0].share),
                       profile.unit === 'time' ? profile.amount(each.self) : shortCount(each.self),
                       functionLink(each), profile.moduleName(each)]));
}

function hottestPaths() {
    if (!hasPart('paths')) return '';
    const data = part('paths');
    const blocks = data.blocks.rows;
    const hot = rowsOf({...data.paths, rows: data.paths.rows.slice(0, 5)});
    return smallTable(
        'Hottest paths, by instructions',
        [['Share', 'share'], ['Count', 'number'], ['Begins at', 'place'], ['Blocks', 'number']],
        hot.map((path, i) => {
            const place = profile.place(blocks[path.blocks[0]][0]);
            return [
                shareCell(path.share, path.error, hot[0].share),
                `${shortCount(path.count)} \u00d7 ${path.instructions}`,
                node('a', {class: 'name', href: `#view=paths&path=${i}`}, placeName(place)),
                String(path.length)
            ];
        }));
}

// Branches that most often deviate from their usual way.
function leastForeseeable() {
    if (!hasPart('branches')) return '';
    const data = part('branches');
    const missed = (branch) => branch.kind === 'conditional' ?
        Math.min(branch.taken, branch.count - branch.taken) :
        branch.count - branch.to[0][2];
    const hot = rowsOf(data.branches)
                    .filter((branch) => branch.kind !== 'return' && missed(branch) > 0)
                    .sort((a, b) => missed(b) - missed(a))
                    .slice(0, 5);
    if (hot.length === 0) return '';
    return smallTable(
        'Branches that least often go the same way',
        [['Executions', 'number'], ['Branch', 'place'], ['Outcome', 'outcome']],
        hot.map(
            (branch) => [shortCount(branch.count), placeLink(branch.from), branchOutcome(branch)]));
}

function mostInvariant() {
    if (!hasPart('values')) return '';
    const hot = part('values')
                    .values.map(valueOf)
                    .filter((value) => value.invariance >= 0.5)
                    .sort((a, b) => b.invariance * b.count - a.invariance * a.count)
                    .slice(0, 5);
    if (hot.length === 0) return '';
    return smallTable(
        'Most invariant values, constants left out',
        [
            ['Executions', 'number'], ['Instruction at', 'place'], ['Result', 'code'],
            ['Invariance', 'share']
        ],
        hot.map(
            (value) =>
                [shortCount(value.count), placeLink(value.at),
                 `${value.operand} = ${valueText(value)}`,
                 [valueBar(value), `${percent(value.invariance)} ${lowerBound(value)}`]]));
}

function mostLost() {
    if (!hasPart('loads')) return '';
    const {loads} = part('loads');
    const all = loads.reduce((sum, load) => sum + load.lost_cycles, 0);
    const hot = loads.filter((load) => load.lost_cycles > 0).slice(0, 5);
    if (hot.length === 0) return '';
    return smallTable(
        'Loads, by cycles lost to misses',
        [['Share', 'share'], ['Load', 'place'], ['Levels', 'levels'], ['Median', 'number']],
        hot.map(
            (load) =>
                [shareCell(ratio(load.lost_cycles, all), undefined, ratio(hot[0].lost_cycles, all)),
                 placeLink(load.at), [levelBar(load), levelText(load)],
                 load.timed ? String(Math.round(load.median_cycles)) : '']));
}

function processTable(data) {
    const list = rowsOf(data.processes);
    const others = data.other_processes;
    if (list.length < 2 && others.count === 0) return '';
    const all = list.reduce((sum, each) => sum + each.instructions, others.instructions);
    const rows = list.map(
        (each) => [
            [bar(ratio(each.instructions, all)), percent(ratio(each.instructions, all))],
            shortCount(each.instructions), String(each.pid), duration(each.seconds), each.ended,
            each.command]);
    if (others.count > 0)
        rows.push([
            [bar(ratio(others.instructions, all)), percent(ratio(others.instructions, all))],
            shortCount(others.instructions), '', '', '', `and ${exactCount(others.count)} more`
        ]);
    return smallTable(
        'Processes',
        [
            ['Share', 'share'], ['Instructions', 'number'], ['Process', 'number'],
            ['Time', 'number'], ['Ended', ''], ['Command', 'code']
        ],
        rows, 'wide');
}

function threadTable(data) {
    const list = rowsOf(data.threads);
    if (list.length < 2) return '';
    const all = list.reduce((sum, each) => sum + each.instructions, 0);
    const timed = list.some((each) => each.time_ns > 0);
    return smallTable(
        'Threads',
        [
            ['Share', 'share'], ['Instructions', 'number'], ['Samples', 'number'],
            [timed ? 'Time' : '', 'number'], ['Thread', 'number'], ['Name', '']
        ],
        list.map(
            (each) => [
                [bar(ratio(each.instructions, all)), percent(ratio(each.instructions, all))],
                shortCount(each.instructions), String(each.samples),
                timed ? duration(each.time_ns / 1e9) : '',
                each.tid === 0 ? '' : String(each.tid),
                each.tid === 0 ? 'begun in samples' : each.name]));
}

function namedCounts(title, counts) {
    const list = Object.entries(counts);
    if (list.length === 0) return '';
    return node(
        'details', {}, node('summary', {}, title),
        node(
            'dl', {class: 'names'},
            list.map(
                ([name, value]) =>
                    [node('dt', {}, name),
                     node('dd', {}, typeof value === 'number' ? exactCount(value) : value)])));
}

function showOverview(container) {
    const data = part('overview');
    container.append(
        node('h2', {}, 'Overview'),
        ...data.advice.map((sentence) => node('p', {class: 'warning'}, sentence)), findings(),
        node('div', {class: 'columns'}, runFacts(data), sampledFacts(data), costFacts(data)),
        data.notes.length === 0 ?
            '' :
            node(
                'section', {class: 'notes'}, node('h3', {}, 'Notes'),
                node('ul', {}, data.notes.map((note) => node('li', {}, note)))),
        node(
            'div', {class: 'hottest'}, hottestFunctions(),
            node('div', {}, hottestPaths(), mostLost()), leastForeseeable(), mostInvariant(),
            processTable(data), threadTable(data)),
        namedCounts('Options', data.run.options), namedCounts('Counters', data.sampling.counters));
}

function showSyscalls(container) {
    const data = part('syscalls');
    const rows = (counts) => {
        const list = Object.entries(counts).sort(([, a], [, b]) => b - a);
        const all = list.reduce((sum, [, count]) => sum + count, 0);
        return list.map(
            ([
                name, count
            ]) => [[bar(ratio(count, all)), percent(ratio(count, all))], exactCount(count), name]);
    };
    const heads = (what) => [['Share', 'share'], ['Calls', 'number'], [what, 'code']];
    container.append(
        node('h2', {}, 'System calls in samples'),
        node(
            'div', {class: 'columns'}, smallTable('By name', heads('Call'), rows(data.by_name)),
            smallTable('By class', heads('Class'), rows(data.by_class))));
}
