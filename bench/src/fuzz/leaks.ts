import { z } from 'zod'

/**
 * Texts that no answer may contain: how the service is made, and where it runs. What a schema says of a value is meant for
 * clients. A short name counts only at the beginning of a word, since tokens and challenges contain every sequence of a few
 * letters sooner or later.
 */
const INTERNALS: readonly (readonly [what: string, pattern: RegExp])[] = [
  ['a stack trace', /\bat [^\n"]{1,120}\.[cm]?[jt]s:\d+/],
  // A page may name a document of the repository. Below a folder of the machine, its path would tell where the service runs.
  [
    'a source file',
    /(?!(?<!\/)[\w/-]+\.md\b(?!\.))\b(services|packages|migrations|node_modules)\/[\w@./-]+|file:\/\/\/(?!etc\/passwd)/,
  ],
  ['SQL', /\b(SELECT\b.{1,200}\bFROM|INSERT INTO|UPDATE\b.{1,80}\bSET|DELETE FROM)\b/],
  [
    'the database',
    /violates|duplicate key|relation "|column "|syntax error at|invalid input syntax|(?<![\w.-])pg_[a-z]{3}|plpgsql|SQLSTATE|invalid byte sequence/,
  ],
  [
    'the runtime',
    /Cannot read propert|is not a function|is not defined|is not iterable|Unexpected (token|end of|non-whitespace)|in JSON at position|\[object Object\]|Maximum call stack|\bERR_[A-Z]{2,}/,
  ],
  ['a library', /ZodError|\bFST_ERR|\bkysely\b|pg-boss|\bajv\b|fastify|PostgresError|DatabaseError/],
]

/**
 * The codes that say why a peer could not be reached. Operators are told: a delivery that failed has its error (console
 * reference: Routes of payments).
 */
const NETWORK = ['the network', /\bE(CONN[A-Z]+|PIPE|NOTFOUND|TIMEDOUT)\b/] as const

/** Names the internals that an answer reveals. @param text body and headers */
export function findInternals(text: string, reader: 'anybody' | 'operator' = 'anybody'): readonly string[] {
  const internals = reader === 'operator' ? INTERNALS : [...INTERNALS, NETWORK]
  return internals.flatMap(([what, pattern]) => {
    const found = pattern.exec(text)
    return found === null ? [] : [`tells of ${what}: ${found[0].slice(0, 120)}`]
  })
}

export function findSecrets(text: string, secrets: ReadonlyMap<string, string>): readonly string[] {
  return [...secrets].flatMap(([name, value]) => (value !== '' && text.includes(value) ? [`tells the ${name}`] : []))
}

const Line = z.object({
  level: z.string(),
  msg: z.string(),
  err: z.object({ message: z.string() }).optional(),
})
const MESSAGE_MAX = 160
/** The parts that differ between two lines of one fault: ids and numbers. */
const VARYING = /\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b|\d+/g
/** The line that each request writes. Its client has seen the status. */
const ACCESS = 'request'

/** Names what a log must not contain: secrets; and errors, which no client sees behind a redirect or in the background. */
export function findLogProblems(
  log: string,
  {
    secrets,
    caused,
  }: {
    readonly secrets: ReadonlyMap<string, string>
    /** The errors that the surroundings of the service cause on purpose. */
    readonly caused: RegExp | undefined
  },
): readonly string[] {
  const errors = log.split('\n').flatMap((line) => {
    const entry = parse(line)
    if (entry === undefined || !/^(error|fatal)$/.test(entry.level) || entry.msg === ACCESS || caused?.test(entry.msg))
      return []
    const message = [entry.msg, entry.err?.message ?? ''].join(' ').trim().replaceAll(VARYING, '*')
    return [`has an error: ${message.slice(0, MESSAGE_MAX)}`]
  })
  return [...findSecrets(log, secrets), ...new Set(errors)]
}

/** The parsed line. Undefined if the line is not one of ours, such as the cut beginning of a line. */
function parse(line: string): z.output<typeof Line> | undefined {
  try {
    return Line.safeParse(JSON.parse(line)).data
  } catch {
    return undefined
  }
}
