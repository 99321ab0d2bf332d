// What the pages share: views with addresses, keyboard shortcuts, the tooltip.

const viewKeys = '123456789abcdeghilmqrtuv';

let shownViews = [];
let leave = null;  // called when another view is shown; null: nothing to do
let hooks = {keys: {}};

function route() {
    const words = new URLSearchParams(location.hash.slice(1));
    const key = words.get('view') || (words.has('function') ? 'code' : 'overview');
    const view = shownViews.find((each) => each.key === key) || shownViews[0];
    const main = byId('main');
    const leaveLast = leave;
    leave = null;  // stays so if show() throws
    if (leaveLast) leaveLast();
    hideTooltip();
    main.replaceChildren();
    main.className = `view-${view.key}`;
    hooks.begin(view, words);
    leave = view.show(main, words) || null;
    for (const link of byId('views').children)
        link.setAttribute('aria-current', link.dataset.view === view.key ? 'page' : 'false');
    if (!words.has('at')) main.scrollTo(0, 0);
}

function drawViews() {
    byId('views').append(...shownViews.map(
        (view, i) => node(
            'a', {href: `#view=${view.key}`, 'data-view': view.key, title: view.title},
            node('span', {class: 'title'}, view.title),
            node('kbd', {'aria-hidden': 'true'}, viewKeys[i] || ''))));
}

function drawHelp(keyHelp) {
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
            const search = byId('search');
            if (!search) return;
            search.focus();
            search.select();
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
        ...hooks.keys,
    };
    const own = new CustomEvent('view-key', {detail: event.key, cancelable: true});
    if (!typing && !byId('main').firstElementChild.dispatchEvent(own))
        event.preventDefault();
    else if (actions[event.key]) {
        event.preventDefault();
        actions[event.key]();
    } else if (view && event.key.length === 1) {
        event.preventDefault();
        location.hash = hooks.link(`view=${view.key}`);
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

function showTooltip(content, x, y, kind = '') {
    const tooltip = byId('tooltip');
    tooltip.className = kind;
    tooltip.replaceChildren(...content);
    tooltip.hidden = false;
    const {width, height} = tooltip.getBoundingClientRect();
    tooltip.style.left = `${Math.max(4, Math.min(x + 14, innerWidth - width - 8))}px`;
    tooltip.style.top =
        `${y + 18 + height > innerHeight ? Math.max(4, y - height - 10) : y + 18}px`;
}

function hideTooltip() { byId('tooltip').hidden = true; }

// Shows `views`, of which each has a key, a title and show(container, words of the address). show()
// may return what is to be called when the view is left. `keyHelp` has pairs of keys and what they
// do. `begin` is called before a view is shown. `link` says to which address the key of a view
// leads. `keys` has what further keys do.
function showPage(views, keyHelp, {begin = () => {}, link = (hash) => hash, keys = {}} = {}) {
    shownViews = views;
    hooks = {begin, link, keys};
    drawViews();
    drawHelp(keyHelp);
    watchNames(byId('main'));
    addEventListener('hashchange', route);
    addEventListener('keydown', onKey);
    route();
    performance.mark('shadowprof-shown');
}
