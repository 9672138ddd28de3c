import { z } from 'zod'
import { findSecrets } from './leaks.ts'

const Line = z.object({
  level: z.string(),
  msg: z.string(),
  status: z.number().optional(),
  err: z.object({ message: z.string() }).optional(),
})
const MESSAGE_MAX = 160

/**
 * Names what a log should not hold: secrets, and errors, of which clients see nothing where they happen behind a redirect
 * or in the background. A request that was refused for a moment (503) is none.
 */
export function findLogProblems(log: string, secrets: ReadonlyMap<string, string>): readonly string[] {
  const errors = log.split('\n').flatMap((line) => {
    const entry = parse(line)
    if (entry === undefined || !/^(error|fatal)$/.test(entry.level) || entry.status === 503) return []
    return [`has an error: ${[entry.msg, entry.err?.message ?? ''].join(' ').trim().slice(0, MESSAGE_MAX)}`]
  })
  return [...findSecrets(log, secrets), ...errors]
}

/** Undefined for what is no line of ours, such as the beginning of one. */
function parse(line: string): z.output<typeof Line> | undefined {
  try {
    return Line.safeParse(JSON.parse(line)).data
  } catch {
    return undefined
  }
}
