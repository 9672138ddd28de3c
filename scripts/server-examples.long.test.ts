import { spawn } from 'node:child_process'
import { globSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { migrateUp } from '../packages/database/src/migrations/migrate.ts'
import { canTestWith } from '../packages/testing/src/find-program.ts'
import { freePort } from '../packages/testing/src/free-port.ts'
import { createEmptyDatabase, type TemporaryDatabase } from '../packages/testing/src/temporary-database.ts'
import { createFolder, removeFoldersAtEnd } from '../packages/testing/src/temporary-folder.ts'
import { migrateOptions } from '../services/auth/src/migrations.ts'
import { examplesIn } from './test/document-examples.ts'

removeFoldersAtEnd()

const root = join(import.meta.dirname, '..')
const MOVING = 'docs/coming-from-supabase-auth.md'
const REFERENCE = 'docs/reference/auth.md'
const SCALING = 'docs/runbooks/scaling-out.md'

/** Roles that the examples create, or that must exist before. */
const ROLES = /(?<=ROLE |OWNER TO |TO ")(?:anon|authenticated|service_role|trestle)\b/g

/** An example in a language in a document, by number. */
const exampleOf = (document: string, language: string, number = 1): string =>
  examplesIn(root, document).find((example) => example.language === language && example.number === number)?.text ??
  expect.fail(`${document} has no example ${number} of ${language}`)

describe('the SQL of documents, on a database of auth', () => {
  let database: TemporaryDatabase
  let superuser: pg.Client
  beforeAll(async () => {
    database = await createEmptyDatabase()
    const { directUrl: url } = database
    const settings = { url, migrationUrl: url, namespace: '', schema: 'auth', role: undefined }
    await migrateUp(migrateOptions({ database: settings, compatibility: { makesPgcrypto: true } }))
    superuser = new pg.Client(url)
    await superuser.connect()
  })
  afterAll(async () => {
    await superuser.end()
    await database.drop()
  })

  /**
   * Runs an example and returns the rows of a query after it. The transaction is rolled back. Roles get other names, because the
   * whole server shares them.
   */
  async function ask(example: string, question: string, preparation = ''): Promise<readonly unknown[]> {
    await superuser.query('BEGIN')
    try {
      await superuser.query(preparation)
      await superuser.query(example.replaceAll(ROLES, 'example_$&'))
      return (await superuser.query(question)).rows
    } finally {
      await superuser.query('ROLLBACK')
    }
  }

  it(`${REFERENCE}: the seed file makes a confirmed user with an identity and the password`, async () => {
    const question = `
      SELECT users.email, email_confirmed_at IS NOT NULL AS confirmed, provider, identity_data ->> 'sub' = users.id::text AS own,
        encrypted_password = crypt('correct horse', encrypted_password) AS signs_in
      FROM auth.users JOIN auth.identities ON user_id = users.id`
    expect(await ask(exampleOf(REFERENCE, 'sql'), question)).toEqual([
      { email: 'ann@example.com', confirmed: true, provider: 'email', own: true, signs_in: true },
    ])
  })

  it(`${MOVING}: the statements make the roles of Supabase`, async () => {
    const names = ['anon', 'authenticated', 'service_role']
    const question = `SELECT substring(rolname, 9) AS name, rolcanlogin AS "canLogin", rolbypassrls AS "bypassesPolicies"
      FROM pg_roles WHERE rolname IN ('${names.map((name) => `example_${name}`).join("', '")}') ORDER BY 1`
    expect(await ask(exampleOf(MOVING, 'sql'), question)).toEqual(
      names.map((name) => ({ name, canLogin: false, bypassesPolicies: name === 'service_role' })),
    )
  })

  /** The owner in the runbook, and stand-ins for functions of Citus, which the embedded server lacks. */
  const CITUS = `
    CREATE ROLE example_trestle;
    CREATE TABLE servers (name text, port int);
    CREATE FUNCTION citus_set_coordinator_host(text, int) RETURNS void LANGUAGE sql AS 'INSERT INTO servers VALUES ($1, $2)';
    CREATE FUNCTION citus_add_node(text, int) RETURNS void LANGUAGE sql AS 'INSERT INTO servers VALUES ($1, $2)';
    CREATE SCHEMA citus_internal;
    GRANT USAGE ON SCHEMA citus_internal TO PUBLIC;
    CREATE FUNCTION run_command_on_all_nodes(command text) RETURNS TABLE (success boolean) LANGUAGE plpgsql AS $$
    BEGIN EXECUTE command; RETURN QUERY SELECT true; END $$;`

  it(`${SCALING}: the first statements introduce the servers to each other`, async () => {
    expect(await ask(exampleOf(SCALING, 'sql', 1), 'SELECT * FROM servers', CITUS)).toEqual(
      [1, 2, 3].map((number) => ({ name: `10.0.0.${number}`, port: 5432 })),
    )
  })

  it(`${SCALING}: the second statement leaves the internal functions of Citus to the owner`, async () => {
    const question = `SELECT has_schema_privilege('example_trestle', 'citus_internal', 'USAGE') AS owner,
      (SELECT bool_or(grantee = 0) FROM pg_namespace, aclexplode(nspacl) WHERE nspname = 'citus_internal') AS everybody`
    expect(await ask(exampleOf(SCALING, 'sql', 2), question, CITUS)).toEqual([{ owner: true, everybody: false }])
  })

  it('has a test for each example of a document', () => {
    const documents = globSync(['*.md', '{docs,migrations,packages,services,examples}/**/*.md'], {
      cwd: root,
      exclude: (path) => path.includes('node_modules'),
    })
    const found = documents
      .flatMap((document) => examplesIn(root, document))
      .filter(({ language }) => language === 'sql')
    expect(found.map(({ document, number }) => `${document} ${number}`).sort()).toEqual([
      `${MOVING} 1`,
      `${REFERENCE} 1`,
      `${SCALING} 1`,
      `${SCALING} 2`,
    ])
  })
})

it(`${SCALING}: a line of the password file names host, port, database, role and password`, () => {
  const lines = exampleOf(SCALING, 'text').trimEnd().split('\n')
  expect(lines.map((line) => /^10\.0\.0\.1:5432:trestle:(\w+):<[^:\\]+>$/.exec(line)?.[1])).toEqual([
    'postgres',
    'trestle',
    'payments_service',
    'payments_operators',
  ])
})

it.runIf(canTestWith('pgbouncer'))(
  `${SCALING}: PgBouncer starts with its configuration, without a warning`,
  async () => {
    const file = join(createFolder(), 'pgbouncer.ini')
    const settings = exampleOf(SCALING, 'ini')
      .replace('listen_port = 6432', `listen_port = ${await freePort()}\nunix_socket_dir =`)
      .replace('/etc/pgbouncer/userlist.txt', join(file, '..', 'userlist.txt'))
    writeFileSync(file, settings)
    writeFileSync(join(file, '..', 'userlist.txt'), '"trestle" ""\n')
    // PgBouncer refuses to run as root.
    const pooler = spawn('pgbouncer', [...(process.getuid?.() === 0 ? ['--user', 'nobody'] : []), file])
    pooler.stderr.on('data', (lines) => String(lines).includes('process up') && pooler.kill('SIGINT'))
    const log = await text(pooler.stderr)
    expect(log.match(/ (?:WARNING|ERROR|FATAL) .*| process up/g)).toEqual([' process up'])
  },
)
