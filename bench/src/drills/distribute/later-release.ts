import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'

/** A release of payments with a new table and a changed function. */
export interface LaterRelease {
  readonly program: string
  /** The table without prefix. It belongs to a merchant, and has foreign keys to both kinds of tables. */
  readonly table: string
  /** A function on the server of its merchant, and a text that it contains only from this release on. */
  readonly changed: { readonly name: string; readonly mark: string }
}

const VERSION = '9.0.0'
const TABLE = 'notes'
const MIGRATION = '9000-create-notes'
const FUNCTION = 'run_merchant_operations'
const MARK = `-- of release ${VERSION}`

const MIGRATION_TEXT = `// Notes of merchants about their transactions.
import { type Kysely, sql } from 'kysely'
import { type MigrationSource } from '../migration.ts'

export const createNotes: MigrationSource = (names) => ({ tables: { ${TABLE}: 'owned' },
  async up(db: Kysely<unknown>) {
    await sql\`
      CREATE TABLE \${names.id('${TABLE}')} (
        merchant_id text COLLATE "C" NOT NULL,
        id text COLLATE "C" NOT NULL,
        transaction_id text COLLATE "C" NOT NULL,
        note text NOT NULL,
        CONSTRAINT \${names.local('${TABLE}_pk')} PRIMARY KEY (merchant_id, id),
        CONSTRAINT \${names.local('${TABLE}_merchant_fk')} FOREIGN KEY (merchant_id) REFERENCES \${names.id('merchants')} (id),
        CONSTRAINT \${names.local('${TABLE}_transaction_fk')} FOREIGN KEY (merchant_id, transaction_id)
          REFERENCES \${names.id('transactions')} (merchant_id, id)
      )\`.execute(db)
  },
  async down(db: Kysely<unknown>) {
    await sql\`DROP TABLE \${names.id('${TABLE}')}\`.execute(db)
  },
})
`

/** Creates the release in a folder, from a checkout with installed packages. */
export function createLaterRelease(checkout: string, folder: string): LaterRelease {
  mkdirSync(folder, { recursive: true })
  for (const name of ['services/payments', 'packages', 'migrations']) {
    cpSync(join(checkout, name), join(folder, name), {
      recursive: true,
      // The workspace packages are linked to each other. The links must stay within this release.
      verbatimSymlinks: true,
      filter: (path) => basename(path) !== '.cache',
    })
  }
  symlinkSync(join(checkout, 'node_modules'), join(folder, 'node_modules'))
  edit(join(folder, 'services/payments/package.json'), /("version": )"[^"]+"/, `$1"${VERSION}"`)
  writeFileSync(join(folder, 'migrations/payments', `${MIGRATION}.ts`), MIGRATION_TEXT)
  const entry = `  '${MIGRATION}': inFile(() => import('./payments/${MIGRATION}.ts')),\n}`
  edit(join(folder, 'migrations/payments.ts'), /^\}/m, entry)
  edit(join(folder, 'migrations/payments/functions', `${FUNCTION}.sql`), /^BEGIN$/m, `BEGIN\n  ${MARK}`)
  const program = join(folder, 'services/payments/src/main.ts')
  return { program, table: TABLE, changed: { name: FUNCTION, mark: MARK } }
}

/** @throws Error if the file does not match the pattern */
function edit(file: string, pattern: RegExp, replacement: string): void {
  const text = readFileSync(file, 'utf8')
  if (!pattern.test(text)) throw new Error(`${file} has nothing like ${pattern}`)
  writeFileSync(file, text.replace(pattern, replacement))
}
