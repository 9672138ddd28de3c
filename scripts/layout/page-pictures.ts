import { listPageSources, PAGE_SOURCES_FILE } from '../../bench/src/payment-page/page-sources.ts'
import type { Rule } from './source-tree.ts'

/** The pictures of the payment page are up to date: they were taken from its present sources. */
export const pagePictures: Rule = ({ root, read }) => {
  const [taken, present] = [read(PAGE_SOURCES_FILE) ?? '', listPageSources(root)].map(
    (list) => new Set(list.split('\n')),
  )
  const changed = new Set(
    [...(taken ?? []), ...(present ?? [])].filter((line) => !taken?.has(line) || !present?.has(line)),
  )
  const paths = new Set([...changed].map((line) => line.slice(line.indexOf('  ') + 2)))
  return [...paths].map((path) => ({
    path,
    message: 'has changed since its pictures were taken: node bench/src/payment-page.ts --pictures',
  }))
}
