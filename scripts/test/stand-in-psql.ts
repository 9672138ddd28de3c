// Replaces psql in examples of documents, because a machine may lack psql: `node scripts/test/stand-in-psql.ts URL …`. It
// supports the options of those examples, and prints unaligned rows.

import { readFileSync } from 'node:fs'
import { text } from 'node:stream/consumers'
import { parseArgs } from 'node:util'
import pg from 'pg'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    command: { type: 'string', short: 'c' },
    file: { type: 'string', short: 'f' },
    'no-align': { type: 'boolean', short: 'A' },
    set: { type: 'string', short: 'v', multiple: true, default: [] },
    'tuples-only': { type: 'boolean', short: 't' },
  },
})
const variables = new Map(
  values.set.map((pair) => [pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1)]),
)
const script =
  values.command ?? (values.file === undefined ? await text(process.stdin) : readFileSync(values.file, 'utf8'))
const filled = script.replaceAll(/:'(\w+)'/g, (_all, name: string) => pg.escapeLiteral(variables.get(name) ?? ''))

const client = new pg.Client({ connectionString: String(positionals[0]) })
await client.connect()
try {
  // One at a time, because some statements, such as CREATE DATABASE, cannot share a transaction.
  for (const statement of filled.split(/;\s*(?:\n|$)/).filter((each) => each.trim() !== '')) {
    const { fields, rows } = await client.query<string[]>({ text: statement, rowMode: 'array' })
    if (fields.length > 0 && !values['tuples-only']) console.log(fields.map(({ name }) => name).join('|'))
    for (const row of rows) console.log(row.join('|'))
  }
} finally {
  await client.end()
}
