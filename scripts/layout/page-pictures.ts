import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { listPageSources, PAGE_SOURCES_FILE } from '../../bench/src/payment-page/page-sources.ts'
import type { Rule } from './source-tree.ts'

/** The pictures of the payment page are up to date: they were taken from its present sources. */
export const pagePictures: Rule = ({ root }) => {
  const file = join(root, PAGE_SOURCES_FILE)
  const kept = existsSync(file) ? readFileSync(file, 'utf8') : ''
  const [taken, present] = [kept, listPageSources(root)].map((list) => new Set(list.split('\n')))
  const changed = new Set(
    [...(taken ?? []), ...(present ?? [])].filter((line) => !taken?.has(line) || !present?.has(line)),
  )
  const paths = new Set([...changed].map((line) => line.slice(line.indexOf('  ') + 2)))
  return [...paths].map((path) => ({
    path,
    message: 'has changed since its pictures were taken: node bench/src/payment-page.ts --pictures',
  }))
}
