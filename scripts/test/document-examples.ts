import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/** A code block in a document. */
export interface DocumentExample {
  /** The path from the root: `docs/runbooks/upgrade.md`. */
  readonly document: string
  readonly language: string
  /** The number of the block among those of its language in the document, from 1. */
  readonly number: number
  /** The text without the indentation of a list. */
  readonly text: string
}

/** The code blocks of a document, in order. The language is '' if the block names none. */
export function examplesIn(root: string, document: string): readonly DocumentExample[] {
  const counts = new Map<string, number>()
  const blocks = readFileSync(join(root, document), 'utf8').matchAll(/^( *)```(\w*)\n(.*?)^ *```$/gms)
  return [...blocks].map(([, indentation = '', language = '', code = '']) => {
    const number = (counts.get(language) ?? 0) + 1
    counts.set(language, number)
    return { document, language, number, text: code.replaceAll(new RegExp(`^${indentation}`, 'gm'), '') }
  })
}

/** The tests that run the examples of documents. A key with a language is for the blocks of that language. */
export const RUN_BY: Readonly<Record<string, string>> = {
  'README.md': 'scripts/examples.long.test.ts',
  'docs/architecture.md': 'scripts/example-syntax.test.ts',
  'docs/coming-from-supabase-auth.md sql': 'scripts/server-examples.long.test.ts',
  'docs/quick-start/reserve-stock.md': 'services/inventory/test/readme.test.ts',
  'docs/quick-start/reserve-stock.md csv': 'services/inventory/test/readme.test.ts',
  'docs/quick-start/sign-in-a-user.md': 'services/auth/test/auth-js/documents.long.test.ts',
  'docs/quick-start/sign-in-a-user.md html': 'services/auth/test/auth-js/documents.long.test.ts',
  'docs/quick-start/take-a-payment.md': 'services/payments/test/readme.long.test.ts',
  'docs/quick-start/take-a-payment.md text': 'services/payments/test/readme.long.test.ts',
  'docs/reference/auth.md': 'scripts/example-syntax.test.ts',
  'docs/reference/auth.md sql': 'scripts/server-examples.long.test.ts',
  'docs/reference/endpoints.md': 'packages/endpoints/test/reference.test.ts',
  'docs/reference/inventory.md': 'services/inventory/test/readme.test.ts',
  'docs/reference/payments.md': 'scripts/examples.long.test.ts',
  'docs/runbooks/README.md': 'scripts/shell-examples.long.test.ts',
  'docs/runbooks/changed-rows.md': 'scripts/examples.long.test.ts',
  'docs/runbooks/key-rotation.md': 'scripts/examples.long.test.ts',
  'docs/runbooks/one-machine.md': 'scripts/examples.long.test.ts',
  'docs/runbooks/rollback.md': 'scripts/examples.long.test.ts',
  'docs/runbooks/scaling-out.md': 'scripts/examples.long.test.ts',
  'docs/runbooks/scaling-out.md ini': 'scripts/server-examples.long.test.ts',
  'docs/runbooks/scaling-out.md sql': 'scripts/server-examples.long.test.ts',
  'docs/runbooks/scaling-out.md text': 'scripts/server-examples.long.test.ts',
  'docs/runbooks/upgrade.md': 'scripts/examples.long.test.ts',
  'examples/shop/README.md': 'scripts/examples.long.test.ts',
  'packages/endpoints/README.md': 'packages/endpoints/test/readme.test.ts',
  'services/auth/README.md': 'scripts/examples.long.test.ts',
  'services/console/README.md': 'scripts/container-files.long.test.ts',
  'services/inventory/README.md': 'services/inventory/test/readme.test.ts',
  'services/payments/README.md': 'services/payments/test/readme.long.test.ts',
}

/**
 * Shell examples that change a machine, do not end or take minutes, by document and number. They run with stand-ins for such
 * programs, which record their arguments: each must name existing commands, options, services, units and files.
 */
export const RUN_WITH_STAND_INS: Readonly<Record<string, readonly number[]>> = {
  'CONTRIBUTING.md': [1],
  'README.md': [1, 3, 5],
  'bench/README.md': [1],
  'docs/coming-from-supabase-auth.md': [1],
  'docs/commands.md': [1],
  'docs/quick-start/reserve-stock.md': [12],
  'docs/quick-start/take-a-payment.md': [9, 10],
  'docs/runbooks/README.md': [1, 2, 3],
  'docs/runbooks/missing-webhook.md': [1, 2, 3],
  'docs/runbooks/moving-in.md': Array.from({ length: 39 }, (_, index) => index + 1),
  'docs/runbooks/one-machine.md': [1, 3, 4, 5, 6, 7, 8, 9, 10, 11],
  'docs/runbooks/restore.md': [1, 2, 3],
  'docs/runbooks/rollback.md': [1, 4],
  'docs/runbooks/scaling-out.md': [1, 2, 3, 6, 7, 8, 9, 10, 11, 12],
  'docs/runbooks/upgrade.md': [1, 2, 5],
  'packages/endpoints/README.md': [1],
  'services/payments/README.md': [5],
}

/** Whether an example runs with stand-ins. */
export function hasStandIns({ document, language, number }: DocumentExample): boolean {
  return language === 'sh' && RUN_WITH_STAND_INS[document]?.includes(number) === true
}
