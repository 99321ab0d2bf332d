// Long names: cut short where they stand, in full by the pointer, and by the keyboard at the bottom
// of the page.

// A name in short. `data-full` and the title have the whole.
function shortName(full, text = abbreviated(full)) {
    return text === full ? full : node('span', {title: full, 'data-full': full}, text);
}

// A place's name, of which the style cuts all but the offset.
function endKept(name) {
    const end = name.lastIndexOf('+0x');
    if (end <= 0) return name;
    return ['head', 'tail'].map(
        (part, i) => node('span', {class: part}, i === 0 ? name.slice(0, end) : name.slice(end)));
}

// A name in short for a heading, with a button that shows the whole.
function openedName(full) {
    const short = abbreviated(full);
    if (short === full) return full;
    const name = node('span', {title: full}, short);
    const button = node(
        'button', {
            type: 'button',
            class: 'more-name',
            'aria-expanded': 'false',
            onclick: () => {
                const opens = button.getAttribute('aria-expanded') === 'false';
                button.setAttribute('aria-expanded', String(opens));
                name.textContent = opens ? full : short;
            }
        },
        'full name');
    return [name, ' ', button];
}

// Whether the style has cut the element's text.
function isCut(element) { return element.scrollWidth > element.clientWidth; }

// What a row does not show in full.
function cutTexts(row) {
    const names = [...row.querySelectorAll('[data-full]')].map((each) => each.dataset.full);
    const cells =
        [...row.querySelectorAll('td, .chain, .head')]
            .filter((cell) => isCut(cell) && !cell.querySelector('[data-full]'))
            .map((cell) => cell.matches('.head') ? cell.parentNode.textContent : cell.innerText);
    return [...new Set([...names, ...cells])];
}

// Shows at the bottom of the page what the row under the keyboard's focus does not show in full.
function showCutTexts(row) {
    const texts = cutTexts(row);
    if (texts.length === 0) return;
    const {left} = byId('main').getBoundingClientRect();
    const content = texts.map((text) => node('div', {class: 'name'}, text));
    showTooltip(content, left, innerHeight, 'wide');
    const {top, bottom} = row.getBoundingClientRect(), tooltip = byId('tooltip');
    const box = tooltip.getBoundingClientRect();
    if (bottom > box.top) tooltip.style.top = `${Math.max(4, top - box.height - 4)}px`;
}

function watchNames(main) {
    main.addEventListener('focusin', (event) => {
        const row = event.target.closest('[data-row]');
        if (row && event.target.matches(':focus-visible')) showCutTexts(row);
    });
    main.addEventListener('focusout', hideTooltip);
    main.addEventListener('mouseover', (event) => {
        const cell = event.target.closest('td, .chain');
        if (cell && !cell.title && isCut(cell)) cell.title = cell.innerText;
    });
}
