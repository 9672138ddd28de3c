import { createHash } from 'node:crypto'
import { expect, it } from 'vitest'
import { pagePictures } from './page-pictures.ts'
import { problemsOf } from './shop-tree.ts'

const page = { 'services/payments/src/pages/assets/page.css': 'a {}\n' }
const listOf = (path: string, text: string) => `${createHash('sha256').update(text).digest('hex')}  ${path}\n`
const changed = 'has changed since its pictures were taken: node bench/src/payment-page.ts --pictures'

const path = 'services/payments/src/pages/assets/page.css'
const list = 'docs/payment-page/sources.sha256'

it.each([
  ['as they were', listOf(path, 'a {}\n'), []],
  ['one that was not there', '', [path]],
  ['one with another text', listOf(path, 'b {}\n'), [path]],
  [
    'without one that was there',
    listOf(path, 'a {}\n') + listOf('services/payments/src/pages/gone.ts', ''),
    ['services/payments/src/pages/gone.ts'],
  ],
])('compares the sources of the pictures: %s', async (_name, kept, paths) => {
  expect(await problemsOf(pagePictures, { ...page, [list]: kept })).toEqual(paths.map((each) => `${each} ${changed}`))
})

it('refuses a page without any pictures', async () => {
  expect(await problemsOf(pagePictures, page)).toEqual([`${path} ${changed}`])
})
