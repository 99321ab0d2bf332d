// Creates elements. Text from the profile never becomes markup.

const svgNames = new Set(['svg', 'rect', 'line', 'path', 'title', 'g', 'text']);

// node('a', {class: 'x', href: '#', onclick: f, style: {width: '3px'}}, 'text', child)
function node(name, properties = {}, ...children) {
    const made = svgNames.has(name) ? document.createElementNS('http://www.w3.org/2000/svg', name) :
                                      document.createElement(name);
    for (const [key, value] of Object.entries(properties)) {
        if (value === undefined || value === null || value === false) continue;
        if (key.startsWith('on'))
            made.addEventListener(key.slice(2), value);
        else if (key === 'style')
            Object.assign(made.style, value);
        else
            made.setAttribute(key, value === true ? '' : value);
    }
    add(made, children);
    return made;
}

function add(parent, children) {
    for (const child of children) {
        if (child === undefined || child === null || child === '') continue;
        if (Array.isArray(child))
            add(parent, child);
        else
            parent.append(child instanceof Node ? child : String(child));
    }
    return parent;
}

function byId(id) { return document.getElementById(id); }

// Draws a view on a canvas anew when its `scroll` moves or changes its size, and when the desktop's
// colours change: view.draw() and view.colours(). Returns what ends that.
function drawOnChange(view) {
    const draw = () => view.draw();
    const drawInColours = () => {
        view.colours();
        view.draw();
    };
    const observer = new ResizeObserver(draw);
    const scheme = matchMedia('(prefers-color-scheme: dark)');
    view.scroll.addEventListener('scroll', draw);
    observer.observe(view.scroll);
    scheme.addEventListener('change', drawInColours);
    return () => {
        scheme.removeEventListener('change', drawInColours);
        observer.disconnect();
    };
}

// A bar that fills `share` of its place.
function bar(share, kind = '') {
    const part = node('span', {class: `bar-part ${kind}`});
    part.style.width = `${Math.max(0, Math.min(1, share)) * 100}%`;
    return node('span', {class: 'bar', 'aria-hidden': 'true'}, part);
}

// The same, with a hotter colour for a larger share.
function heatBar(share) {
    const made = bar(share, 'heat');
    made.style.setProperty('--heat', `${Math.round(100 * share)}%`);
    return made;
}

// Adjacent parts of a whole: [share, class, name].
function stackedBar(parts, name) {
    const whole =
        node('span', {class: 'bar stacked', role: 'img', 'aria-label': name, title: name});
    for (const [share, kind] of parts) {
        if (!(share > 0)) continue;
        const part = node('span', {class: `bar-part ${kind}`});
        part.style.width = `${share * 100}%`;
        whole.append(part);
    }
    return whole;
}

// Rows that are drawn when they come into sight, `step` at a time.
class LazyRows {
    constructor(parent, items, draw, step = 150) {
        Object.assign(this, {parent, items, draw, step, drawn: 0, stopped: false});
        this.end = node(parent.tagName === 'TBODY' ? 'tr' : 'div', {class: 'more'});
        parent.append(this.end);
        this.watch = new IntersectionObserver((seen) => {
            if (seen.some((each) => each.isIntersecting)) this.more();
        }, {root: null, rootMargin: '600px'});
        this.watch.observe(this.end);
        this.more();
    }
    more() { this.upTo(this.drawn + this.step); }
    upTo(count) {
        const last = Math.min(count, this.items.length);
        if (this.stopped || this.drawn >= last && last > 0) return;
        const rows = document.createDocumentFragment();
        for (; this.drawn < last; ++this.drawn) add(rows, [this.draw(this.items[this.drawn])]);
        this.parent.insertBefore(rows, this.end);
        if (this.drawn === this.items.length) this.stop();
    }
    stop() {
        this.stopped = true;
        this.watch.disconnect();
        this.end.remove();
    }
}

// Handlers by which enter and space act like a click.
function activated(action) {
    return {
        onclick: (event) => {
            if (!event.target.closest('a, button, summary')) action(event);
        },
        onkeydown: (event) => {
            if (event.target !== event.currentTarget) return;
            if (event.key !== 'Enter' && event.key !== ' ') return;
            event.preventDefault();
            action(event);
        },
    };
}
