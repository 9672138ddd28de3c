import type { Distribution } from '../statistics.ts'
import type { Comparison, SideResult } from './compare.ts'
import type { ServiceResult } from './measure-service.ts'
import type { HealthResult, NeighbourResult, PasswordResult } from './passwords.ts'

/** Goals for the start and for memory. */
const GOALS = { healthMs: 500, idleMib: 150, loadedMib: 300 }

const COLUMNS = [36, 11, 8, 8, 7, 13, 8, 8, 20]

/** The printed lines about a service, with the goals that it met or missed. */
export function reportLines(result: ServiceResult): readonly string[] {
  const { service, comparisons, passwords, startUp, loadedMib } = result
  return [
    ...comparisonLines(service, comparisons),
    ...(passwords?.work ?? []).flatMap(passwordRows),
    ...(passwords ? [neighbourRow(passwords.neighbour), healthRow(passwords.health)] : []),
    ...boundRow('start to first answer', startUp.healthMs, 'ms', { atMost: GOALS.healthMs }),
    ...boundRow('start to ready', startUp.readyMs, 'ms'),
    ...boundRow('memory, idle', startUp.idleMib, 'MiB', { atMost: GOALS.idleMib }),
    ...boundRow('memory, loaded', loadedMib, 'MiB', { atMost: GOALS.loadedMib }),
  ]
}

/** The figures of both sides, with their names. */
export function comparisonLines(title: string, comparisons: readonly Comparison[]): readonly string[] {
  const columns = ['requests/s', 'p50 ms', 'p99 ms', 'cpu us', 'reference/s', 'p99 ms', 'cpu us', 'ratio (spread)']
  const rows = comparisons.flatMap((comparison) => [comparisonRow(comparison), ...otherRow(comparison, comparisons)])
  return ['', row(title, ...columns, '  goal'), ...rows]
}

/** The number of failed requests. Anything but 0 makes the figures worthless. */
export function countErrors({ comparisons, passwords }: ServiceResult): number {
  const sides = [
    ...comparisons.flatMap(({ ours, reference }) => [ours, reference]),
    ...(passwords?.work ?? []).flatMap(({ ours, reference }) => [ours, reference]),
    ...(passwords ? [passwords.neighbour.alone, passwords.neighbour.meanwhile, passwords.health.meanwhile] : []),
  ]
  return sides.reduce((sum, { errors }) => sum + errors, 0)
}

function comparisonRow({ name, goal, ours, reference, ratio }: Comparison): string {
  const own = [rate(ours.requestsPerSecond), milliseconds(ours.p50Ms), milliseconds(ours.p99Ms), processor(ours)]
  const other = [rate(reference.requestsPerSecond), milliseconds(reference.p99Ms), processor(reference)]
  return row(`  ${name}`, ...own, ...other, spread(ratio), verdict({ isMet: ratio.median >= goal, goal: `>= ${goal}` }))
}

/** The rate beside that of another endpoint, where a goal is set for it. */
function otherRow({ ofOther, ours }: Comparison, comparisons: readonly Comparison[]): readonly string[] {
  const other = comparisons.find(({ name }) => name === ofOther?.name)
  if (!ofOther || !other) return []
  const ratio = ours.requestsPerSecond / other.ours.requestsPerSecond
  const goal = verdict({ isMet: ratio >= ofOther.goal, goal: `>= ${ofOther.goal}` })
  return [row(`    of ${ofOther.name}`, '', '', '', '', '', '', '', ratio.toFixed(2), goal)]
}

/** The line beside the reference; then the share of the hash rate, which the reference cannot have either. */
function passwordRows(result: PasswordResult): readonly string[] {
  const { hashesPerSecond, ofHashes } = result
  const hashes = `of ${rate(hashesPerSecond)} hashes`
  const reference = `${ofHashes.reference.median.toFixed(2)} by ref.`
  const goal = verdict({ isMet: ofHashes.ours.median >= ofHashes.goal, goal: `>= ${ofHashes.goal}` })
  return [comparisonRow(result), row(`    ${hashes}`, '', '', '', '', reference, '', '', spread(ofHashes.ours), goal)]
}

/** The column "alone" stands where other rows have the reference. The ratio is of the p99: the smaller the better. */
function neighbourRow({ name, goal, alone, meanwhile, ratio }: NeighbourResult): string {
  const own = [rate(meanwhile.requestsPerSecond), milliseconds(meanwhile.p50Ms), milliseconds(meanwhile.p99Ms), '']
  const other = [`${rate(alone.requestsPerSecond)} alone`, milliseconds(alone.p99Ms), '']
  return row(`  ${name}`, ...own, ...other, spread(ratio), verdict({ isMet: ratio.median <= goal, goal: `<= ${goal}` }))
}

/** The goal of a figure; undefined for a figure without a goal. */
export interface Bound {
  readonly atMost?: number
  readonly atLeast?: number
}

function healthRow({ name, goalMs, meanwhile: { requestsPerSecond, p50Ms, p99Ms } }: HealthResult): string {
  const own = [rate(requestsPerSecond), milliseconds(p50Ms), milliseconds(p99Ms)]
  return row(`  ${name}`, ...own, '', '', '', '', '', verdict({ isMet: p99Ms <= goalMs, goal: `<= ${goalMs} ms` }))
}

/** The line of one figure; no line if the figure is not known. */
export function boundRow(name: string, value: number | undefined, unit: string, bound?: Bound): readonly string[] {
  if (value === undefined) return []
  const { atMost = Number.POSITIVE_INFINITY, atLeast = Number.NEGATIVE_INFINITY } = bound ?? {}
  const goal = bound?.atLeast === undefined ? `<= ${atMost}` : `>= ${atLeast}`
  const told = bound === undefined ? '' : verdict({ isMet: value >= atLeast && value <= atMost, goal })
  return [row(`  ${name}`, `${value.toFixed(value < 10 ? 2 : 0)} ${unit}`, '', '', '', '', '', '', '', told)]
}

function row(...cells: readonly string[]): string {
  const padded = cells.map((cell, index) =>
    index === 0 ? cell.padEnd(COLUMNS[0] ?? 0) : cell.padStart(COLUMNS[index] ?? 0),
  )
  return padded.join(' ').trimEnd()
}

function verdict({ isMet, goal }: { readonly isMet: boolean; readonly goal: string }): string {
  return `  ${goal} ${isMet ? 'met' : 'NOT MET'}`
}

function spread({ median, smallest, largest }: Distribution): string {
  return `${median.toFixed(2)} (${smallest.toFixed(2)} - ${largest.toFixed(2)})`
}

function rate(perSecond: number): string {
  return perSecond.toFixed(perSecond < 1_000 ? 1 : 0)
}

function milliseconds(value: number): string {
  return value.toFixed(value < 10 ? 2 : 1)
}

function processor({ processorUs }: SideResult): string {
  return processorUs === undefined ? '' : processorUs.toFixed(0)
}
