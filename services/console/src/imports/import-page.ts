import { type Html, html } from '@trestle/common/documents/html.ts'
import { attribute } from '../pages/form.ts'
import type { ConsolePage } from '../pages/layout.ts'
import { badge, card, count, pageHead, polled, time } from '../pages/parts.ts'
import { smallTable } from '../pages/table.ts'
import { IMPORTS_PATH, importPath, isOpen, modeText, type ReportedImport, stateTone } from './import-view.ts'

/** An import: how far it is, and what has become of its records. While it goes on, the page asks again every two seconds. */
export function importPage(shown: ReportedImport): ConsolePage {
  const { id, createdBy, created, ended } = shown
  const title = `Import ${id}`
  const poll = polled('import', importPath(id))
  return {
    title,
    section: 'imports',
    main: html`${pageHead({
      title,
      above: { label: 'Import and export', path: IMPORTS_PATH },
      facts: [html`<span>by ${createdBy.email}</span>`, html`<span>started ${time(created)}</span>`],
    })}
<div class="stack" id="import"${isOpen(shown) ? poll : undefined}>
${progressCard(shown)}
${reportCard(shown)}
${errorsCard(shown)}
${ended === null ? undefined : html`<p class="hint">Ended ${time(ended)}.</p>`}
</div>`,
  }
}

function progressCard(shown: ReportedImport): Html {
  const { id, state, processed, total, error } = shown
  const text = `${count(processed)} of ${count(total)} records`
  return card(
    'Progress',
    html`<div class="card-body">
<p>${badge(state, stateTone(state))} ${text} · ${modeText(shown)}</p>
<progress class="progress" value="${processed}" max="${Math.max(total, 1)}" aria-label="Progress"${attribute('aria-valuetext', text)}>${text}</progress>
${error === null ? undefined : html`<p class="alert" role="alert">${error.description}</p>`}
${isOpen(shown) ? html`<p class="hint">The import goes on when this page is closed. <a href="${importPath(id)}">Look again</a></p>` : undefined}
</div>`,
  )
}

function reportCard({ report, state, atomic, dryRun }: ReportedImport): Html | undefined {
  if (report === null) return undefined
  const isStored = !dryRun && !(atomic && state === 'failed')
  const numbers = [
    ['New', report.created],
    ['Changed', report.updated],
    ['Left as they were', report.skipped],
    ['Failed', report.failed],
  ] as const
  const stats = numbers.map(
    ([label, value]) =>
      html`<div class="${statKind(label, value)}"><dl><dt>${label}</dt><dd>${count(value)}</dd></dl></div>`,
  )
  return card(isStored ? 'Report' : 'What would happen', html`<div class="stats">${stats}</div>`)
}

/** A number of records that have failed should be seen, and 0 stands back. */
function statKind(label: string, value: number): string {
  if (value === 0) return 'stat none'
  return label === 'Failed' ? 'stat due' : 'stat'
}

function errorsCard({ report }: ReportedImport): Html | undefined {
  if (report === null || report.errors.length === 0) return undefined
  const rows = report.errors
    .toSorted((one, other) => one.line - other.line)
    .map(({ line, sku, description }) => [count(line), html`<span class="long">${sku ?? '–'}</span>`, description])
  const more = report.failed - report.errors.length
  return card(
    'Errors by line',
    html`${smallTable('Errors by line', [{ label: 'Line', kind: 'number' }, 'SKU', 'Problem'], rows)}
${more > 0 ? html`<p class="card-body hint">${count(more)} more are not listed.</p>` : undefined}`,
  )
}
