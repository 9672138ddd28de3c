import { z } from 'zod'

/** The kinds of hostile connections. */
export const KINDS = [
  'never-read',
  'read-slowly',
  'send-ahead',
  'write-heads-slowly',
  'write-bodies-slowly',
  'half-open',
  'read-all',
] as const
/** A kind of hostile connection. */
export type Kind = (typeof KINDS)[number]

/** The task of the process that holds the connections. */
export const Attack = z.object({
  port: z.number(),
  connections: z.number(),
  /** The kinds of the connections, in equal parts. */
  kinds: z.array(z.enum(KINDS)),
  /** Requests for large answers, as bytes. */
  huge: z.array(z.string()),
  /** A request with a large body that never ends: its head, and how much of the body is sent at once. */
  slowBody: z.object({ head: z.string(), bytes: z.number() }),
})
/** The parsed task of that process. */
export type Attack = z.output<typeof Attack>
