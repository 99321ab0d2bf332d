// Views, their addresses and keyboard shortcuts.

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
const viewKeys = '123456789abcdeghilmqrtuv';
const available = () => [...views, ...kindViews()].filter(
    (view) =>
        view.has ? view.has() : ['overview', 'functions'].includes(view.key) || hasPart(view.key));

let shownViews = [];
let leave = null;  // called when another view is shown; null: nothing to do

function route() {
    const words = new URLSearchParams(location.hash.slice(1));
    const key = words.has('function') ? 'code' : words.get('view') || 'overview';
    const view = shownViews.find((each) => each.key === key) || shownViews[0];
    const main = byId('main');
    if (leave) leave();
    hideTooltip();
    main.replaceChildren();
    main.className = `view-${view.key}`;
    stretch = stretchIn(words);
    drawStretchBar(view);
    leave = view.show(main, words) || null;
    for (const link of byId('views').children)
        link.setAttribute('aria-current', link.dataset.view === view.key ? 'page' : 'false');
    if (!words.has('at')) main.scrollTo(0, 0);
}

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
    byId('views').append(...shownViews.map(
        (view, i) => node(
            'a', {href: `#view=${view.key}`, 'data-view': view.key}, view.title,
            node('kbd', {'aria-hidden': 'true'}, viewKeys[i] || ''))));
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
    [
        '\u2190 \u2191 \u2192 \u2193, [, ], z',
        'timeline: go from sample to sample; choose a stretch from and to a sample, zoom'
    ],
    ['Esc', 'clear the search, close, zoom out'],
    ['?', 'this help'],
];

function drawHelp() {
    byId('help').append(
        node('h2', {}, 'Keys'),
        node(
            'dl', {},
            keyHelp.map(
                ([keys, what]) => [node('dt', {}, node('kbd', {}, keys)), node('dd', {}, what)])),
        node('form', {method: 'dialog'}, node('button', {}, 'Close')));
    byId('help-button').addEventListener('click', () => byId('help').showModal());
}

function rowsShown() {
    return [...byId('main').querySelectorAll('[data-row]')].filter(
        (row) => row.offsetParent !== null || row.getClientRects().length);
}

function moveRow(step) {
    const rows = rowsShown();
    if (rows.length === 0) return;
    const at = rows.indexOf(document.activeElement.closest('[data-row]'));
    focusRow(rows[at < 0 ? 0 : Math.max(0, Math.min(rows.length - 1, at + step))]);
}

function focusRow(row) {
    for (const each of byId('main').querySelectorAll('[data-row][tabindex="0"]'))
        each.tabIndex = -1;
    row.tabIndex = 0;
    row.focus({preventScroll: true});
    row.scrollIntoView({block: 'nearest'});
}

function onKey(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || byId('help').open) return;
    const typing = event.target.matches('input, textarea');
    if (typing && event.key !== 'Escape') return;
    const view = shownViews[viewKeys.indexOf(event.key)];
    const actions = {
        '/': () => {
            byId('search').focus();
            byId('search').select();
        },
        '?': () => byId('help').showModal(),
        j: () => moveRow(1),
        ArrowDown: () => moveRow(1),
        k: () => moveRow(-1),
        ArrowUp: () => moveRow(-1),
        f: () => {
            const filter = document.querySelector('.filter');
            if (filter) filter.focus();
        },
        Escape: () => escape(event.target),
    };
    const own = new CustomEvent('view-key', {detail: event.key, cancelable: true});
    if (!typing && !byId('main').firstElementChild.dispatchEvent(own))
        event.preventDefault();
    else if (actions[event.key]) {
        event.preventDefault();
        actions[event.key]();
    } else if (view && event.key.length === 1) {
        event.preventDefault();
        location.hash = withStretch(`view=${view.key}`);
    }
}

function escape(target) {
    if (target.matches('.filter')) {
        target.value = '';
        target.dispatchEvent(new Event('input'));
        target.blur();
    }
    const details = byId('main').querySelector('tr.details');
    if (details) details.remove();
}

function showTooltip(content, x, y) {
    const tooltip = byId('tooltip');
    tooltip.replaceChildren(...content);
    tooltip.hidden = false;
    const {width, height} = tooltip.getBoundingClientRect();
    tooltip.style.left = `${Math.max(4, Math.min(x + 14, innerWidth - width - 8))}px`;
    tooltip.style.top =
        `${y + 18 + height > innerHeight ? Math.max(4, y - height - 10) : y + 18}px`;
}

function hideTooltip() { byId('tooltip').hidden = true; }

profile.load();
shownViews = available();
drawHead();
drawHelp();
new Search(byId('search'), byId('found'), (each) => {
    location.hash = each.code ? functionHash(each) :
                                `#${new URLSearchParams({view: 'functions', filter: each.full})}`;
});
keepStretchInLinks();
addEventListener('hashchange', route);
addEventListener('keydown', onKey);
route();
performance.mark('shadowprof-shown');
