import { createHash } from 'node:crypto'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** The folder of the pictures of the payment page, and the list of the files that they were made from. */
export const PICTURES_FOLDER = 'docs/payment-page'
/** The file with the digests of the sources of the payment page when its pictures were taken. */
export const PAGE_SOURCES_FILE = `${PICTURES_FOLDER}/sources.sha256`

/**
 * The files that the customers' pages are made of, each with its hash, in the form of `sha256sum`. `root` is the repository.
 */
export function listPageSources(root: string): string {
  const files = globSync(
    [
      'services/payments/src/{pages,payment-links}/**/*.{ts,css,js,json}',
      'packages/common/src/documents/{html,page-style}.ts',
    ],
    { cwd: root },
  )
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
