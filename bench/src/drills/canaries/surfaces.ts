import pg from 'pg'
import { listen } from '../../fixtures.ts'

/** A text that the service sends or stores. */
export interface Surface {
  readonly name: string
  readonly text: string
}

/** Searches for secrets unchanged, in hexadecimal and in base64. @returns a line for each found secret */
export function findLeaks(surfaces: readonly Surface[], secrets: ReadonlyMap<string, string>): readonly string[] {
  return surfaces.flatMap(({ name, text }) =>
    [...secrets].flatMap(([secret, value]) => {
      if (value.length < 10) return [`the ${secret} is too short to be looked for`]
      const at = formsOf(value).map((form) => text.indexOf(form))
      const found = at.find((position) => position >= 0)
      return found === undefined
        ? []
        : [`the ${secret} is in the ${name}: …${text.slice(Math.max(0, found - 60), found)}`]
    }),
  )
}

function formsOf(value: string): readonly string[] {
  const bytes = Buffer.from(value)
  return [value, bytes.toString('hex'), bytes.toString('base64').replace(/=+$/, '')]
}

/** Every row of the service's tables and its queue, as text. Bytes are in hexadecimal. */
export async function dumpDatabase(url: string): Promise<string> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    const { rows: tables } = await client.query<{ name: string }>(
      `SELECT format('%I.%I', schemaname, tablename) AS name FROM pg_tables WHERE schemaname LIKE 'payments%'`,
    )
    const lines: string[] = []
    for (const { name } of tables) {
      const { rows } = await client.query<{ line: string }>(`SELECT t::text AS line FROM ${name} t`)
      lines.push(name, ...rows.map(({ line }) => line))
    }
    return lines.join('\n')
  } finally {
    await client.end()
  }
}

/** Starts a server that responds with 200, and records headers and bodies of all requests as latin1. */
export async function startRecorder(): Promise<Awaited<ReturnType<typeof listen>> & { text(): string }> {
  const taken: string[] = []
  const server = await listen(async (request, response) => {
    const body = Buffer.concat(await request.toArray()).toString('latin1')
    taken.push(`${request.url} ${JSON.stringify(request.headers)}\n${body}\n`)
    response.writeHead(200).end()
  })
  return { ...server, text: () => taken.join('') }
}
