import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { createFollower, readLastLines } from './follow-file.ts'
import { formatLine, type ShownLine } from './format-line.ts'

/** The logs that are shown, and where their lines go. */
export interface LogsOptions {
  /** The folder of the logs. */
  readonly directory: string
  /** The names of the logs: services, and `postgres`. */
  readonly names: readonly string[]
  /** Whether to show only what went wrong. */
  readonly onlyErrors: boolean
  readonly say: (line: string) => void
}

/** How many older lines are shown before the logs are followed. */
const SEARCHED_LINES = 2_000

/**
 * Shows the newest lines of several logs, in the order of their times.
 *
 * @returns the size of each log then: where to follow it from
 */
export function showLastLines(
  { directory, names, onlyErrors, say }: LogsOptions,
  count: number,
): ReadonlyMap<string, number> {
  const sizes = new Map<string, number>()
  const shown = names.flatMap((name) => {
    const { lines, size } = readLastLines(fileOf(directory, name), count === 0 ? 0 : Math.max(count, SEARCHED_LINES))
    sizes.set(name, size)
    return withTimes(lines.flatMap((line) => formatLine(name, line) ?? [])).filter(
      ({ isError }) => isError || !onlyErrors,
    )
  })
  const sorted = shown.toSorted((a, b) => Number(a.time > b.time) - Number(a.time < b.time))
  for (const { text } of count === 0 ? [] : sorted.slice(-count)) say(text)
  return sizes
}

/** Shows the lines that are added to logs. */
export interface LogFollower {
  /** Shows what was added since the last time. */
  showNew(): void
  /** Shows lines as they come, until `stop`. */
  showAll(stop: AbortSignal): Promise<void>
}

const POLL_MS = 200

/** Makes a follower of logs. @param from the first byte of each log; by default its start */
export function followLogs(
  { directory, names, onlyErrors, say }: LogsOptions,
  from: ReadonlyMap<string, number>,
): LogFollower {
  const followers = names.map((name) =>
    createFollower(fileOf(directory, name), {
      from: from.get(name) ?? 0,
      onLine: (line) => {
        const shown = formatLine(name, line)
        if (shown && (shown.isError || !onlyErrors)) say(shown.text)
      },
    }),
  )
  const showNew = (): void => {
    for (const follow of followers) follow()
  }
  const showAll = async (stop: AbortSignal): Promise<void> => {
    while (!stop.aborted) {
      showNew()
      await delay(POLL_MS, undefined, { signal: stop }).catch(() => undefined)
    }
  }
  return { showNew, showAll }
}

/** A line without a time belongs to the line before it. */
function withTimes(lines: readonly ShownLine[]): readonly (ShownLine & { readonly time: string })[] {
  let last = ''
  return lines.map((line) => {
    last = line.time ?? last
    return { ...line, time: last }
  })
}

function fileOf(directory: string, name: string): string {
  return join(directory, `${name}.log`)
}
