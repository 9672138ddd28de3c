import { createHash } from 'node:crypto'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** Where the pictures of the payment page lie, from the root, and beside them what they were taken from. */
export const PICTURES_FOLDER = 'docs/payment-page'
export const PAGE_SOURCES_FILE = `${PICTURES_FOLDER}/sources.sha256`

/** The files that customers' pages are made of, each with its hash, as `sha256sum` lists them. `root` is the repository's. */
export function listPageSources(root: string): string {
  const files = globSync('services/payments/src/{pages,payment-links}/**/*.{ts,css,js,json}', { cwd: root })
  return files
    .filter((file) => !file.endsWith('.test.ts'))
    .sort()
    .map(
      (file) =>
        `${createHash('sha256')
          .update(readFileSync(join(root, file)))
          .digest('hex')}  ${file}\n`,
    )
    .join('')
}
