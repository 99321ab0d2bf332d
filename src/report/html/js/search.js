// The search for functions, with a list of matches below the field.

const max_found = 14;

class Search {
    constructor(field, list, open) {
        Object.assign(this, {field, list, open, found: [], chosen: 0});
        field.addEventListener('input', () => this.search());
        field.addEventListener('focus', () => {
            if (field.value) this.search();
        });
        field.addEventListener('blur', () => this.close());
        field.addEventListener('keydown', (event) => this.key(event));
    }
    search() {
        const text = this.field.value.trim().toLowerCase();
        const words = text.split(/\s+/).filter(Boolean);
        this.found = words.length === 0 ?
            [] :
            profile.functions
                .filter((each) => words.every((word) => each.full.toLowerCase().includes(word)))
                .sort((a, b) => this.rank(b, text) - this.rank(a, text) || b.self - a.self)
                .slice(0, max_found);
        this.chosen = 0;
        this.draw(words.length > 0);
        document.dispatchEvent(new CustomEvent('searched', {detail: text}));
    }
    // Exact matches come first, then prefixes, then the rest; functions with code come before all
    // others.
    rank(each, text) {
        const name = each.name.toLowerCase();
        return (each.code ? 4 : 0) + (name === text ? 2 : 0) + (name.startsWith(text) ? 1 : 0);
    }
    draw(open) {
        this.list.replaceChildren(...this.found.map(
            (each, index) => node(
                'li', {
                    role: 'option',
                    id: `found-${index}`,
                    'aria-selected': index === this.chosen ? 'true' : 'false',
                    class: each.code ? '' : 'faint',
                    onmousedown: (event) => {
                        event.preventDefault();
                        this.take(index);
                    }
                },
                node('span', {class: 'percent'}, each.share > 0 ? percent(each.share) : ''),
                node(
                    'span', {class: 'name', title: each.full},
                    index === this.chosen ? each.full : each.shown),
                node('span', {class: 'module'}, profile.moduleName(each)))));
        if (open && this.found.length === 0)
            this.list.append(node('li', {class: 'faint'}, 'No function is called so'));
        this.list.hidden = !open;
        this.field.setAttribute('aria-expanded', String(open));
        if (this.found.length)
            this.field.setAttribute('aria-activedescendant', `found-${this.chosen}`);
        else
            this.field.removeAttribute('aria-activedescendant');
    }
    key(event) {
        if (event.key === 'ArrowDown' || event.key === 'ArrowUp') {
            event.preventDefault();
            const step = event.key === 'ArrowDown' ? 1 : -1;
            if (this.found.length)
                this.chosen = (this.chosen + step + this.found.length) % this.found.length;
            this.draw(true);
        } else if (event.key === 'Enter') {
            event.preventDefault();
            if (this.found.length) this.take(this.chosen);
        } else if (event.key === 'Escape') {
            event.stopPropagation();
            this.field.value = '';
            this.search();
            this.field.blur();
        }
    }
    take(index) {
        this.close();
        this.field.blur();
        this.open(this.found[index]);
    }
    close() {
        this.list.hidden = true;
        this.field.setAttribute('aria-expanded', 'false');
    }
}
