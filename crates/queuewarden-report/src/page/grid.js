// A tree grid that draws only what is in view: rows of queues, and for many columns only those in view too.
//
// It has real focus on one row or cell at a time (a roving tabindex), which stays drawn when it is scrolled away, so that neither the
// keyboard nor a screen reader loses its place. On paper all rows are drawn.

const ROW = 32;
const SPARE_ROWS = 12;
const COLUMN_STEP = 8;

class TreeGrid {
    /**
     * `source` says what is shown:
     * `rows`: the numbers of the queues in order; `level(queue)`, `isOpen(queue)` (null for a leaf), `toggle(queue, open)`, `choose(queue, column)`;
     * `fixed`: columns that are always drawn, `{title, cell(queue)}`, the first being the tree's;
     * `rowHeight`: the height of a row whose columns stand below each other, or nothing;
     * `columns`: the others, `{count, width, header(i), cell(queue, i)}` or null.
     */
    constructor(element, label) {
        this.element = element;
        this.head = h('div', { role: 'rowgroup', class: 'head' });
        this.body = h('div', { role: 'rowgroup', class: 'body' });
        element.append(this.head, this.body);
        element.setAttribute('role', 'treegrid');
        element.setAttribute('aria-label', label);
        this.drawn = new Map();
        this.active = { row: 0, column: -1 };
        this.all = false;
        element.addEventListener('scroll', () => this.later(), { passive: true });
        element.addEventListener('keydown', (event) => this.key(event));
        element.addEventListener('click', (event) => this.click(event));
        element.addEventListener('focusin', (event) => this.focused(event.target));
        new ResizeObserver(() => this.later()).observe(element);
    }

    /** Shows a source anew. The place stays at the same queue where that is still shown. */
    show(source) {
        const queue = this.source?.rows[this.active.row];
        this.source = source;
        this.rowHeight = source.rowHeight ?? ROW;
        this.element.classList.toggle('stacked', this.rowHeight !== ROW);
        this.position = new Map(source.rows.map((row, index) => [row, index]));
        this.active.row = this.position.get(queue) ?? Math.min(this.active.row, Math.max(source.rows.length - 1, 0));
        this.active.column = Math.min(this.active.column, this.cells() - 1);
        this.element.setAttribute('aria-rowcount', source.rows.length + 1);
        this.element.setAttribute('aria-colcount', source.fixed.length + (source.columns?.count ?? 0));
        this.drawAgain();
    }

    /** How many cells a row has beside the tree's own. */
    cells() {
        return this.source.fixed.length - 1 + (this.source.columns?.count ?? 0);
    }

    later() {
        this.frame ??= requestAnimationFrame(() => {
            this.frame = undefined;
            this.draw();
        });
    }

    drawAgain() {
        const focused = this.body.contains(document.activeElement);
        this.forget();
        this.span = undefined;
        this.body.style.height = `${this.source.rows.length * this.rowHeight}px`;
        this.draw();
        if (focused) {
            this.focus();
        }
    }

    forget() {
        this.drawn.forEach((row) => row.remove());
        this.drawn.clear();
    }

    /** Draws what is in view and lacks, and removes what is not in view. */
    draw() {
        if (!this.source || (this.element.clientHeight === 0 && !this.all)) {
            return;
        }
        const span = this.columnsInView();
        if (span.from !== this.span?.from || span.to !== this.span?.to) {
            const focused = this.body.contains(document.activeElement);
            this.span = span;
            this.drawHead();
            this.forget();
            this.drawRows();
            if (focused) {
                this.element.querySelector('[tabindex="0"]')?.focus({ preventScroll: true });
            }
            return;
        }
        this.drawRows();
    }

    drawRows() {
        const { from, to } = this.rowsInView();
        const wanted = (index) => (index >= from && index < to) || index === this.active.row;
        for (const [index, row] of this.drawn) {
            if (!wanted(index)) {
                row.remove();
                this.drawn.delete(index);
            }
        }
        const fresh = [];
        for (let index = from; index < to; index += 1) {
            if (!this.drawn.has(index)) {
                fresh.push(index);
            }
        }
        if (this.source.rows.length > 0 && !this.drawn.has(this.active.row) && !fresh.includes(this.active.row)) {
            fresh.push(this.active.row);
        }
        fresh.sort((left, right) => left - right);
        let behind = this.body.firstElementChild;
        for (const index of fresh) {
            while (behind && Number(behind.dataset.row) < index) {
                behind = behind.nextElementSibling;
            }
            const row = this.row(index);
            this.body.insertBefore(row, behind);
            this.drawn.set(index, row);
        }
        this.mark();
        this.tellWhere();
    }

    /** The head says below which queue the first row in view is, for that may be far above. */
    tellWhere() {
        const first = this.source.rows[Math.ceil(this.element.scrollTop / this.rowHeight)];
        const where = this.element.scrollTop > 0 && first !== undefined ? this.source.where(first) : '';
        const reported = this.head.querySelector('.reported');
        if (reported.textContent !== where) {
            reported.textContent = where;
        }
    }

    rowsInView() {
        const length = this.source.rows.length;
        if (this.all) {
            return { from: 0, to: length };
        }
        const first = Math.floor(this.element.scrollTop / this.rowHeight);
        const shown = Math.ceil(this.element.clientHeight / this.rowHeight);
        return { from: Math.max(first - SPARE_ROWS, 0), to: Math.min(first + shown + SPARE_ROWS, length) };
    }

    columnsInView() {
        const columns = this.source.columns;
        if (!columns) {
            return { from: 0, to: 0 };
        }
        const shown = Math.ceil(this.element.clientWidth / columns.width);
        const first = Math.floor(this.element.scrollLeft / columns.width / COLUMN_STEP) * COLUMN_STEP;
        const from = Math.max(first - COLUMN_STEP, 0);
        return { from, to: Math.min(first + shown + 2 * COLUMN_STEP, columns.count) };
    }

    drawHead() {
        const { fixed, columns } = this.source;
        const cells = fixed.map((column, index) =>
            h('div', { role: 'columnheader', 'aria-colindex': index + 1, class: `fixed ${column.class ?? ''}` },
                column.title, index === 0 && h('bdi', { class: 'reported', 'aria-hidden': 'true' })));
        if (columns) {
            cells.push(this.windowed((index) =>
                h('div', { role: 'columnheader', 'aria-colindex': fixed.length + index + 1, class: 'column' }, columns.header(index))));
        }
        this.head.replaceChildren(h('div', { role: 'row', 'aria-rowindex': 1, class: 'row' }, cells));
    }

    /** The columns in view, at their places. */
    windowed(make) {
        const { width, count: total } = this.source.columns;
        const holder = h('div', { role: 'presentation', class: 'columns' });
        holder.style.width = `${total * width}px`;
        holder.style.paddingLeft = `${this.span.from * width}px`;
        for (let index = this.span.from; index < this.span.to; index += 1) {
            holder.append(make(index));
        }
        return holder;
    }

    row(index) {
        const { rows, fixed, columns } = this.source;
        const queue = rows[index];
        const open = this.source.isOpen(queue);
        const place = this.source.place(queue);
        const row = h('div', {
            role: 'row', class: `row ${this.source.rowClass?.(queue) ?? ''}`, tabindex: '-1', 'data-row': index, 'aria-rowindex': index + 2,
            'aria-level': place.level, 'aria-setsize': place.of, 'aria-posinset': place.at,
            'aria-expanded': open === null ? null : String(open),
        });
        row.style.top = `${index * this.rowHeight}px`;
        row.append(...fixed.map((column, at) => {
            const properties = {
                role: at === 0 ? 'rowheader' : 'gridcell', class: `fixed ${column.class ?? ''}`, 'aria-colindex': at + 1,
                tabindex: at === 0 ? null : '-1', 'data-column': at - 1,
            };
            return h('div', properties, column.cell(queue));
        }));
        if (columns) {
            row.append(this.windowed((at) => {
                const cell = h('div', {
                    role: 'gridcell', class: 'column', 'aria-colindex': fixed.length + at + 1, tabindex: '-1', 'data-column': fixed.length - 1 + at,
                });
                columns.cell(cell, queue, at);
                return cell;
            }));
        }
        return row;
    }

    /** Sets the one place that Tab comes to, and what is chosen. */
    mark() {
        this.element.querySelectorAll('[tabindex="0"]').forEach((other) => other.setAttribute('tabindex', '-1'));
        this.at()?.setAttribute('tabindex', '0');
        for (const [index, row] of this.drawn) {
            row.setAttribute('aria-selected', String(this.source.chosen?.() === this.source.rows[index]));
        }
    }

    at() {
        const row = this.drawn.get(this.active.row);
        return this.active.column < 0 ? row : row?.querySelector(`[data-column="${this.active.column}"]`) ?? row;
    }

    /** Goes to a row, and to one of its cells (-1 for the row itself). */
    go(row, column = this.active.column) {
        this.active = {
            row: Math.min(Math.max(row, 0), this.source.rows.length - 1),
            column: Math.min(Math.max(column, -1), this.cells() - 1),
        };
        this.reveal();
        this.draw();
        this.mark();
        this.focus();
    }

    /** Whatever has got the focus, by whichever way, is the place to go on from. */
    focused(target) {
        const row = target.closest('[data-row]');
        if (row && (target === row || target.matches('[data-column]'))) {
            this.active = { row: Number(row.dataset.row), column: target === row ? -1 : Number(target.dataset.column) };
            this.mark();
        }
    }

    focus() {
        this.at()?.focus({ preventScroll: true });
    }

    /** Goes to a queue without taking the focus. */
    goTo(queue) {
        const row = this.position.get(queue);
        if (row !== undefined) {
            this.active = { row, column: -1 };
            this.reveal();
            this.draw();
            this.mark();
        }
    }

    reveal() {
        const top = this.active.row * this.rowHeight;
        const height = this.element.clientHeight - this.head.offsetHeight;
        if (top < this.element.scrollTop) {
            this.element.scrollTop = top;
        } else if (top + this.rowHeight > this.element.scrollTop + height) {
            this.element.scrollTop = top + this.rowHeight - height;
        }
        const column = this.active.column - (this.source.fixed.length - 1);
        if (this.source.columns && column >= 0) {
            const { width } = this.source.columns;
            const room = this.element.clientWidth - this.head.querySelector('.fixed').offsetWidth;
            if (column * width < this.element.scrollLeft) {
                this.element.scrollLeft = column * width;
            } else if ((column + 1) * width > this.element.scrollLeft + room) {
                this.element.scrollLeft = (column + 1) * width - room;
            }
        }
    }

    click(event) {
        const row = event.target.closest('[data-row]');
        if (!row || event.target.closest('button:not(.twisty)')) {
            return;
        }
        const cell = event.target.closest('[data-column]');
        const index = Number(row.dataset.row);
        const queue = this.source.rows[index];
        this.active = { row: index, column: cell ? Number(cell.dataset.column) : -1 };
        if (event.target.closest('.twisty')) {
            this.source.toggle(queue, !this.source.isOpen(queue));
        } else {
            this.source.choose(queue, this.active.column);
        }
        this.mark();
        this.focus();
    }

    key(event) {
        if (event.ctrlKey && (event.key === 'Home' || event.key === 'End')) {
            this.go(event.key === 'Home' ? 0 : this.source.rows.length - 1);
        } else if (event.ctrlKey || event.altKey || event.metaKey || !event.target.closest('[data-row]') || !this.moved(event.key)) {
            return;
        }
        event.preventDefault();
    }

    /** What a key does, after the ARIA practices for tree grids; whether it does something. */
    moved(key) {
        const { row, column } = this.active;
        const page = Math.max(Math.floor(this.element.clientHeight / this.rowHeight) - 2, 1);
        const steps = { ArrowUp: -1, ArrowDown: 1, PageUp: -page, PageDown: page };
        if (key in steps) {
            this.go(row + steps[key]);
        } else if (key === 'ArrowRight') {
            this.inwards(row, column);
        } else if (key === 'ArrowLeft') {
            this.outwards(row, column);
        } else if (key === 'Home' || key === 'End') {
            this.edge(key === 'Home', column);
        } else if (key === 'Enter' || key === ' ') {
            this.source.choose(this.source.rows[row], column);
            this.mark();
        } else if (key === '*') {
            this.source.openBeside(this.source.rows[row]);
        } else {
            return false;
        }
        return true;
    }

    inwards(row, column) {
        const queue = this.source.rows[row];
        if (column < 0 && this.source.isOpen(queue) === false) {
            this.source.toggle(queue, true);
        } else {
            this.go(row, column + 1);
        }
    }

    outwards(row, column) {
        const queue = this.source.rows[row];
        if (column >= 0) {
            this.go(row, column - 1);
        } else if (this.source.isOpen(queue) === true) {
            this.source.toggle(queue, false);
        } else {
            const above = this.position.get(this.source.above(queue));
            this.go(above ?? row);
        }
    }

    edge(first, column) {
        if (column < 0) {
            this.go(first ? 0 : this.source.rows.length - 1);
        } else {
            this.go(this.active.row, first ? 0 : this.cells() - 1);
        }
    }
}
