import { type Html, html } from '@trestle/common/documents/html.ts'
import { mayDo, type OperatorRole } from '@trestle/operators/operator-roles.ts'
import { z } from 'zod'
import {
  attribute,
  changeForm,
  checkField,
  choiceField,
  descriptionAttributes,
  type FormProof,
  hintOf,
  type Problem,
} from '../pages/form.ts'
import type { ConsolePage } from '../pages/layout.ts'
import { type Column, type ListQuery, listCard, smallTable } from '../pages/list.ts'
import { badge, card, count, emptyState, pageHead, polled, type Tone, time } from '../pages/parts.ts'
import { enveloped, type Listed } from '../service-calls/operator-calls.ts'

/** Shows the progress and the outcome of an import. Until its end, the page reloads every two seconds. */
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
${isOpen(shown) ? html`<p class="hint">The import continues when this page is closed. <a href="${importPath(id)}">Look again</a></p>` : undefined}
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
  return card(isStored ? 'Report' : 'Expected result', html`<div class="stats">${stats}</div>`)
}

/** Highlights failed records and greys out 0. */
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

interface ImportsPage {
  readonly query: z.infer<typeof ListQuery>
  readonly listed: Listed<readonly Import[]>
  readonly role: OperatorRole
  readonly proof: FormProof
  /** Why the last file was refused. */
  readonly problem?: Problem | undefined
}

const COLUMNS: readonly Column<Import>[] = [
  { label: 'Import', cell: ({ id }) => html`<a class="main-link" href="${importPath(id)}">Import ${id}</a>` },
  { label: 'State', kind: 'state', cell: ({ state }) => badge(state, stateTone(state)) },
  { label: 'By', kind: 'bare', cell: ({ createdBy }) => html`<span class="long">${createdBy.email}</span>` },
  { label: 'Takes', kind: 'gone', cell: (each) => modeText(each) },
  { label: 'Records', kind: 'number', cell: ({ processed, total }) => `${count(processed)} of ${count(total)}` },
  { label: 'Started', kind: 'created', cell: ({ created }) => time(created) },
]

export function importsPage({ query, listed, role, proof, problem }: ImportsPage): ConsolePage {
  return {
    title: 'Import and export',
    section: 'imports',
    main: html`${pageHead({ title: 'Import and export' })}
<div class="stack">
${mayDo(role, 'products.import') ? importCard(proof, problem) : undefined}
${exportCard()}
${listCard({
  label: 'Imports of the last 30 days',
  hasHead: true,
  path: IMPORTS_PATH,
  columns: COLUMNS,
  rows: listed.value,
  next: listed.next,
  query: { ...query },
  empty: emptyState('products', 'No file was imported yet.'),
})}
</div>`,
  }
}

/** The file is the last field, so that the other fields are known before the file is read. */
function importCard(proof: FormProof, problem: Problem | undefined): Html {
  const file = {
    name: 'file',
    hint: 'CSV with the columns sku and attributes, or attributes.color and the like; or NDJSON, a product a line.',
    problem,
  }
  const fields = html`${choiceField({
    name: 'mode',
    label: 'Products whose SKU is there already',
    value: 'insert',
    options: [
      ['insert', 'are reported as errors'],
      ['skip', 'stay as they are'],
      ['upsert', 'get the attributes of the file'],
    ],
  })}
${checkField({ name: 'atomic', label: 'All products, or none', isChecked: false })}
${checkField({ name: 'dryRun', label: 'Only try, and store nothing', isChecked: false })}
<div class="field"><label for="file">File</label>
<input id="file" name="file" type="file" accept=".csv,.ndjson,.jsonl" required${descriptionAttributes(file)}>
${hintOf(file)}</div>`
  const form = changeForm({ action: IMPORTS_PATH, proof, problem, fields, submit: 'Import', takesFile: true })
  return card('Import products', html`<div class="card-body">${form}</div>`)
}

function exportCard(): Html {
  return card(
    'Export products',
    html`<div class="card-body"><form class="filters" method="get" action="/products/export">
<div><label class="unseen" for="format">Format</label><select id="format" name="format"><option value="csv">CSV</option><option value="ndjson">NDJSON</option></select></div>
<button class="button" type="submit">Download</button></form>
<p class="hint">All products with their attributes, without their stock. Cells that a spreadsheet would compute get a mark in front.</p></div>`,
  )
}

const IMPORTS_PATH = '/imports'

const Import = z.looseObject({
  id: z.int(),
  state: z.string(),
  format: z.string(),
  mode: z.string(),
  atomic: z.boolean(),
  dryRun: z.boolean(),
  total: z.int(),
  processed: z.int(),
  createdBy: z.looseObject({ email: z.string() }),
  created: z.string(),
  ended: z.string().nullable(),
})
/** An import (console reference: Imports of operators). */
type Import = z.infer<typeof Import>

const Report = z.looseObject({
  created: z.int(),
  updated: z.int(),
  skipped: z.int(),
  failed: z.int(),
  errors: z.array(z.looseObject({ line: z.int(), sku: z.string().nullable(), description: z.string() })),
})
const ReportedImport = Import.extend({
  report: Report.nullable(),
  error: z.looseObject({ description: z.string() }).nullable(),
})
/** An import with the outcome of its records. */
type ReportedImport = z.infer<typeof ReportedImport>

export const ImportsView: z.ZodType<readonly Import[]> = enveloped(z.array(Import))
export const ImportView: z.ZodType<ReportedImport> = enveloped(ReportedImport)

export function importPath(id: number): string {
  return `${IMPORTS_PATH}/${id}`
}

/** Whether an import still waits or runs. Its page then reloads. */
function isOpen({ state }: Pick<Import, 'state'>): boolean {
  return state === 'waiting' || state === 'running'
}

function stateTone(state: string): Tone {
  if (state === 'done') return 'good'
  return state === 'failed' ? 'bad' : 'info'
}

const MODES: Readonly<Record<string, string>> = {
  insert: 'new products',
  upsert: 'new and changed products',
  skip: 'new products, others stay',
}

/** Returns the mode of an import in words, with its limits: `new products, all or none, trial`. */
function modeText({ mode, atomic, dryRun }: Pick<Import, 'mode' | 'atomic' | 'dryRun'>): string {
  const limits = [atomic ? 'all or none' : undefined, dryRun ? 'trial' : undefined]
  return [MODES[mode] ?? mode, ...limits].filter((each) => each !== undefined).join(', ')
}
