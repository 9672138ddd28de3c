import { z } from 'zod'
import { findSecrets } from './leaks.ts'

const Line = z.object({
  level: z.string(),
  msg: z.string(),
  err: z.object({ message: z.string() }).optional(),
})
const MESSAGE_MAX = 160
/** What differs between two lines of one fault: ids and numbers. */
const VARYING = /\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b|\d+/g
/** The line of every request: its client has seen the status. */
const ACCESS = 'request'

/** Names what a log should not hold: secrets, and errors, which no client sees behind a redirect or in the background. */
export function findLogProblems(log: string, secrets: ReadonlyMap<string, string>): readonly string[] {
  const errors = log.split('\n').flatMap((line) => {
    const entry = parse(line)
    if (entry === undefined || !/^(error|fatal)$/.test(entry.level) || entry.msg === ACCESS) return []
    const message = [entry.msg, entry.err?.message ?? ''].join(' ').trim().replaceAll(VARYING, '*')
    return [`has an error: ${message.slice(0, MESSAGE_MAX)}`]
  })
  return [...findSecrets(log, secrets), ...new Set(errors)]
}

/** Undefined for what is no line of ours, such as the beginning of one. */
function parse(line: string): z.output<typeof Line> | undefined {
  try {
    return Line.safeParse(JSON.parse(line)).data
  } catch {
    return undefined
  }
}
