import { createReadStream, createWriteStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { extname } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { printable } from '@trestle/common/lifecycle/printable.ts'
import { Command, Option } from 'commander'
import type { InventoryConfig } from '../config.ts'
import { csvForm, jsonLines, readColumnPaths } from '../exports/export-form.ts'
import { exportProducts } from '../exports/export-repository.ts'
import { FIELD_TEXTS } from '../field-errors.ts'
import { type ImportReport, storingOf } from '../imports/import-report.ts'
import { IMPORT_FORMATS, type ImportFormat, readRecords } from '../imports/read-records.ts'
import { openOperatorDatabase } from '../open-database.ts'
import { PRODUCT_SORTS, type ProductSort } from '../products/product-list-repository.ts'
import { readSelection } from '../products/product-query.ts'
import { openGate } from '../rate-limits/concurrency-limits.ts'
import { IMPORT_MODES, type ImportMode, importProducts } from '../use-cases/import-products.ts'

interface ImportFlags {
  readonly mode: ImportMode
  readonly format?: ImportFormat
  readonly atomic?: true
  readonly dryRun?: true
}

interface ExportFlags {
  readonly format?: ImportFormat
  readonly filter: readonly string[]
  readonly sort: ProductSort
  readonly flatten: readonly string[]
  readonly spreadsheetSafe?: true
}

type Streams = Pick<NodeJS.Process, 'stdout' | 'stderr'>

/** The command has the same effect as the endpoint of this name. */
export function importCommand(load: () => InventoryConfig, streams: Streams): Command {
  return new Command('import')
    .exitOverride()
    .description('store the products of a file; run it again with --mode skip or upsert if it broke off')
    .argument('<file>')
    .addOption(
      new Option('--mode <mode>', 'what happens to a product whose sku is taken')
        .choices(IMPORT_MODES)
        .default('insert'),
    )
    .addOption(formatOption())
    .option('--atomic', 'store all products, or none')
    .option('--dry-run', 'report what would happen, and store nothing')
    .action((file: string, flags: ImportFlags) => runImport(load(), file, flags, streams))
}

/** The command has the same effect as the endpoint of this name. */
export function exportCommand(load: () => InventoryConfig, streams: Streams): Command {
  return new Command('export')
    .exitOverride()
    .description('write products, without their stock, to a new file or to standard output')
    .argument('[file]')
    .addOption(formatOption())
    .option('--filter <name=value...>', 'a filter of the list of products, such as attributes.color=red', [])
    .addOption(new Option('--sort <order>', 'order of the products').choices(PRODUCT_SORTS).default('id'))
    .option('--flatten <path...>', 'values that get columns of their own in CSV, such as color,dim.w', [])
    .option('--spreadsheet-safe', 'keep spreadsheets from computing cells as formulas')
    .action((file: string | undefined, flags: ExportFlags) => runExport(load(), file, flags, streams))
}

function formatOption(): Option {
  return new Option('--format <format>', 'format of the file (default: by the extension of its name)').choices(
    IMPORT_FORMATS,
  )
}

async function runImport(
  config: InventoryConfig,
  file: string,
  { mode, format = formatOf(file), atomic, dryRun }: ImportFlags,
  { stdout, stderr }: Streams,
): Promise<void> {
  const bar = createProgressBar(stderr, (await stat(file)).size)
  const database = await openOperatorDatabase(config, 'import')
  try {
    const limits = { bytesMax: Number.MAX_SAFE_INTEGER, attributesBytesMax: config.attributesBytesMax }
    const place = { line: 0 }
    const records = readRecords(bar.watch(createReadStream(file)), format, limits, place)
    const storing = storingOf({ atomic, dryRun })
    const alone = openGate({ slots: 1, patienceMs: 0 })
    const onEnd = (verdict: string, report: ImportReport) => {
      if (verdict !== 'broken-off') return
      bar.end()
      for (const line of describeProblems(report)) stderr.write(`${line}\n`)
      stdout.write(`broke off at line ${report.line}: ${describe(report)}\n`)
    }
    const run = importProducts(
      { ...database, batches: alone, wholeImports: alone },
      { records, mode, storing, client: '', signal: undefined, place, onEnd },
    )
    let step = await run.next()
    for (; !step.done; step = await run.next()) if (step.value.type === 'progress') bar.show(step.value.received)
    bar.end()
    const { verdict, report } = step.value
    for (const line of describeProblems(report)) stderr.write(`${line}\n`)
    stdout.write(`${verdict === 'stored' ? '' : 'nothing was stored; would be: '}${describe(report)}\n`)
    if (report.failed > 0) throw new Error(`${report.failed} of ${report.received} records failed`)
  } finally {
    bar.end()
    await database.close()
  }
}

/**
 * Returns a line for each problem, but only one line for all records whose SKU is taken. If a file is imported twice, every
 * record has this problem.
 */
function describeProblems({ errors, failed }: ImportReport): readonly string[] {
  const lines = errors.filter(({ type }) => type !== 'CONFLICT').map(describeProblem)
  const taken = errors.filter(({ type }) => type === 'CONFLICT')
  const [first] = taken
  if (!first) return lines
  // The report contains only the first problems.
  const count = failed > errors.length ? `at least ${taken.length}` : String(taken.length)
  const advice = '--mode skip leaves the products as they are, --mode upsert changes them'
  return [
    ...lines,
    `records whose sku is taken: ${count}, such as ${printable(first.sku ?? '')} in line ${first.line}; ${advice}`,
  ]
}

function describeProblem({ line, description }: ImportReport['errors'][number]): string {
  return `line ${line}: ${printable(description)}`
}

function describe({ received, created, updated, skipped, failed }: ImportReport): string {
  return `${received} received, ${created} created, ${updated} updated, ${skipped} skipped, ${failed} failed`
}

async function runExport(
  config: InventoryConfig,
  file: string | undefined,
  {
    format = file === undefined ? 'ndjson' : formatOf(file),
    filter,
    sort,
    flatten: paths,
    spreadsheetSafe,
  }: ExportFlags,
  { stdout, stderr }: Streams,
): Promise<void> {
  const selection = readSelection({ ...readFilters(filter), sort })
  if (paths.length > 0 && format !== 'csv') throw new Error('--flatten is for CSV; pass --format csv, or leave it out')
  // Paths may also be joined with commas, as in the endpoint's query.
  const read = readColumnPaths(paths.flatMap((text) => text.split(',')))
  if (read.verdict === 'refused') throw new Error(`--flatten: ${read.problem}`)
  const { paths: flatten } = read
  const form = format === 'csv' ? csvForm({ flatten, spreadsheetSafe: spreadsheetSafe ?? false }) : jsonLines
  const database = await openOperatorDatabase(config, 'export')
  const bar = createProgressBar(stderr, undefined)
  try {
    const bytes = bar.watch(exportProducts(database, { selection, flatten, form }))
    // The flag `wx` refuses to overwrite a file.
    const target = file === undefined ? stdout : createWriteStream(file, { flags: 'wx' })
    await pipeline(bytes, target, { end: file !== undefined })
  } finally {
    bar.end()
    await database.close()
  }
}

function readFilters(filters: readonly string[]): Readonly<Record<string, string>> {
  const read = new Map<string, string>()
  for (const filter of filters) {
    const equals = filter.indexOf('=')
    if (equals < 1) throw new Error(`--filter ${filter}: must be name=value`)
    const name = filter.slice(0, equals)
    if (name === 'sort') throw new Error(`--filter ${filter} is not a filter: pass --sort`)
    if (read.has(name)) throw new Error(`--filter ${name}: ${FIELD_TEXTS.givenTwice}`)
    read.set(name, filter.slice(equals + 1))
  }
  return Object.fromEntries(read)
}

function formatOf(file: string): ImportFormat {
  const extension = extname(file).toLowerCase()
  if (extension === '.csv') return 'csv'
  if (extension === '.ndjson' || extension === '.jsonl') return 'ndjson'
  throw new Error(`${file}: the name does not show the format; pass --format csv or ndjson`)
}

const WIDTH = 30

export interface ProgressBar {
  readonly watch: (source: AsyncIterable<Uint8Array>) => AsyncGenerator<Uint8Array, void>
  /** @param rows the number of rows so far */
  readonly show: (rows: number) => void
  /** Ends the line. It can be called repeatedly. */
  readonly end: () => void
}

/**
 * Returns a progress bar for a file on a terminal. It writes nothing to other outputs.
 * @param bytesTotal the size, or `undefined` if it is unknown
 */
export function createProgressBar(
  terminal: Pick<NodeJS.WriteStream, 'isTTY' | 'write'>,
  bytesTotal: number | undefined,
): ProgressBar {
  let bytes = 0
  let isOpen = false
  const draw = (rows?: number): void => {
    if (!terminal.isTTY) return
    isOpen = true
    terminal.write(`\r${renderProgress(bytes, bytesTotal)}${rows === undefined ? '' : `  ${rows} products`}`)
  }
  return {
    async *watch(source: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void> {
      for await (const piece of source) {
        bytes += piece.byteLength
        if (bytesTotal === undefined) draw()
        yield piece
      }
    },
    show: (rows: number): void => draw(rows),
    end: (): void => {
      if (isOpen) terminal.write('\n')
      isOpen = false
    },
  }
}

/** Returns `[#######---] 70 %`, or the number of bytes if the total is unknown. */
export function renderProgress(bytes: number, bytesTotal: number | undefined): string {
  if (bytesTotal === undefined) return `${(bytes / 1_048_576).toFixed(1)} MiB`
  const share = bytesTotal === 0 ? 1 : Math.min(1, bytes / bytesTotal)
  const filled = Math.round(share * WIDTH)
  return `[${'#'.repeat(filled)}${'-'.repeat(WIDTH - filled)}] ${String(Math.floor(share * 100)).padStart(3)} %`
}
