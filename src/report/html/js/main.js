// The views of a profile's page.

const views = [
    {key: 'overview', title: 'Overview', show: showOverview},
    {key: 'functions', title: 'Functions', show: showFunctions},
    {
        key: 'code',
        title: 'Code',
        show: showCode,
        has: () => profile.functions.some((each) => each.code)
    },
    {key: 'flame', title: 'Flame graph', show: showFlame},
    {key: 'callers', title: 'Callers', show: showCallers, has: () => hasPart('flame')},
    {key: 'timeline', title: 'Timeline', show: showTimeline},
    {key: 'paths', title: 'Paths', show: showPaths},
    {key: 'branches', title: 'Branches', show: showBranches},
    {key: 'calls', title: 'Calls', show: showCalls},
    {key: 'values', title: 'Values', show: showValues},
    {key: 'loads', title: 'Loads', show: showLoads},
    {key: 'hazards', title: 'Hazards', show: showHazards},
    {key: 'addresses', title: 'Addresses', show: showAddresses},
    {key: 'streams', title: 'Streams', show: showStreams},
    {key: 'probes', title: 'Probes', show: showProbes},
    {key: 'syscalls', title: 'System calls', show: showSyscalls},
];
const available = () => [...views, ...kindViews()].filter(
    (view) =>
        view.has ? view.has() : ['overview', 'functions'].includes(view.key) || hasPart(view.key));

function drawHead() {
    const {run, sampling} = part('overview');
    const command = run.command.join(' ') || '(no command)';
    document.title = `${baseName(run.command[0] || '')} \u2013 shadowprof`;
    byId('command').textContent = command;
    byId('command').title = command;
    byId('headline').textContent = [
        duration(run.seconds), counted(sampling.samples, 'sample'),
        `${shortCount(sampling.instructions)} instructions`, sampling.mode
    ].filter(Boolean).join(' \u00b7 ');
}

function chooseUnit(unit) {
    profile.weighBy(unit);
    location.hash = withChoices(location.hash);
}

function chooseNextUnit() {
    chooseUnit(profile.units[(profile.units.indexOf(profile.unit) + 1) % profile.units.length]);
}

const keyHelp = [
    ['1 to 9, a, b, \u2026', 'the views, as the letters beside them say'],
    ['/', 'search functions; arrows and Enter choose one'],
    ['j, k or \u2193, \u2191', 'next and previous row'],
    ['Enter', 'open the row: its code, or what is known of it'],
    ['f', 'filter the list'],
    ['n, p', 'code: next and previous hot instruction'],
    ['s', 'code: by address, or by line of source'],
    ['x', 'code: show what was never executed, or fold it'],
    [
        '\u2190 \u2191 \u2192 \u2193, Enter',
        'flame graph: go from frame to frame, zoom; o opens the code'
    ],
    ['w', 'functions, code, flame graph: callers and callees of the function'],
    ['\u2192, \u2190', 'callers: open the row, close it; w goes to its function, o to the code'],
    [
        '\u2190 \u2191 \u2192 \u2193, [, ], z',
        'timeline: go from sample to sample; choose a stretch from and to a sample, zoom'
    ],
    ['y', 'by time or by instructions: functions, callers and the flame graph'],
    ['Esc', 'clear the search, close, zoom out'],
    ['?', 'this help'],
];

profile.load();
drawHead();
const unitChoice = byId('unit');
unitChoice.append(...profile.units.map((each) => node('option', {value: each}, `by ${each}`)));
unitChoice.hidden = profile.units.length === 1;
unitChoice.addEventListener('change', () => chooseUnit(unitChoice.value));
new Search(byId('search'), byId('found'), (each) => {
    location.hash = each.code ?
        functionHash(each) :
        withChoices(`#${new URLSearchParams({view: 'functions', filter: each.full})}`);
});
keepChoicesInLinks();
showPage(available(), keyHelp, {
    begin: (view, words) => {
        const by = words.get('by');
        profile.weighBy(profile.units.includes(by) ? by : profile.units[0]);
        unitChoice.value = profile.unit;
        stretch = stretchIn(words);
        drawStretchBar(view);
    },
    link: withChoices,
    keys: {y: chooseNextUnit}
});
