import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/** A block of code in a document. */
export interface DocumentExample {
  /** From the root: `docs/runbooks/upgrade.md`. */
  readonly document: string
  readonly language: string
  /** Counted from 1 among the blocks of its language in the document. */
  readonly number: number
  /** Without the indentation of a list. */
  readonly text: string
}

/** The blocks of code of a document, in their order. A block without a language has the language ''. */
export function examplesIn(root: string, document: string): readonly DocumentExample[] {
  const counts = new Map<string, number>()
  const blocks = readFileSync(join(root, document), 'utf8').matchAll(/^( *)```(\w*)\n(.*?)^ *```$/gms)
  return [...blocks].map(([, indentation = '', language = '', code = '']) => {
    const number = (counts.get(language) ?? 0) + 1
    counts.set(language, number)
    return { document, language, number, text: code.replaceAll(new RegExp(`^${indentation}`, 'gm'), '') }
  })
}

/** The tests that run the examples of documents. */
export const RUN_BY: Readonly<Record<string, string>> = {
  'CONTRIBUTING.md': 'scripts/example-syntax.test.ts',
  'README.md': 'scripts/examples.test.ts',
  'bench/README.md': 'scripts/example-syntax.test.ts',
  'docs/reference/auth.md': 'scripts/example-syntax.test.ts',
  'docs/reference/endpoints.md': 'packages/endpoints/test/reference.test.ts',
  'docs/reference/inventory.md': 'services/inventory/test/readme.test.ts',
  'docs/reference/payments.md': 'scripts/examples.test.ts',
  'docs/runbooks/changed-rows.md': 'scripts/examples.test.ts',
  'docs/runbooks/key-rotation.md': 'scripts/examples.test.ts',
  'docs/runbooks/rollback.md': 'scripts/examples.test.ts',
  'docs/runbooks/upgrade.md': 'scripts/examples.test.ts',
  'examples/shop/README.md': 'scripts/examples.test.ts',
  'packages/endpoints/README.md': 'packages/endpoints/test/readme.test.ts',
  'services/auth/README.md': 'scripts/examples.test.ts',
  'services/inventory/README.md': 'services/inventory/test/readme.test.ts',
  'services/payments/README.md': 'services/payments/test/readme.test.ts',
}

/** Examples of shells that tests only parse, by document and number, and why. */
export const ONLY_PARSED: readonly {
  readonly document: string
  readonly numbers: readonly number[]
  readonly reason: string
}[] = [
  { document: 'CONTRIBUTING.md', numbers: [1], reason: 'they do not end; every test of the stack starts its program' },
  { document: 'README.md', numbers: [1, 3, 4], reason: 'they do not end, or are this run of the tests' },
  { document: 'README.md', numbers: [5], reason: 'scripts/try-compose runs it with Docker' },
  {
    document: 'packages/endpoints/README.md',
    numbers: [1],
    reason: 'its script try-package installs the package and does the same',
  },
  { document: 'docs/runbooks/README.md', numbers: [1, 2, 3], reason: 'they choose where the programs run' },
  { document: 'docs/runbooks/changed-rows.md', numbers: [2, 3], reason: 'they need psql, which a machine may lack' },
  { document: 'docs/runbooks/key-rotation.md', numbers: [2], reason: 'it succeeds ten minutes after the first' },
  {
    document: 'docs/runbooks/one-machine.md',
    numbers: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10],
    reason: 'they change a machine: packages, users, systemd',
  },
  { document: 'docs/runbooks/restore.md', numbers: [1, 2, 3], reason: 'scripts/restore-drill runs them every night' },
  {
    document: 'docs/runbooks/rollback.md',
    numbers: [1, 4],
    reason: 'they need the checkout and the images of two releases',
  },
  {
    document: 'docs/runbooks/scaling-out.md',
    numbers: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10],
    reason: 'they need further servers: scripts/replicas, scripts/ha-drill and scripts/test-matrix start those',
  },
  { document: 'docs/runbooks/upgrade.md', numbers: [1], reason: 'it changes the checkout and the images' },
  { document: 'docs/runbooks/upgrade.md', numbers: [2], reason: 'example 6 runs the same command' },
  { document: 'docs/runbooks/upgrade.md', numbers: [5], reason: 'it asks the port of a machine' },
]

/** Whether tests only parse an example. */
export function isOnlyParsed({ document, language, number }: DocumentExample): boolean {
  return language === 'sh' && ONLY_PARSED.some((entry) => entry.document === document && entry.numbers.includes(number))
}
