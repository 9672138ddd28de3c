import { expect, it } from 'vitest'
import { documentLinks } from './document-links.ts'
import { problemsOf } from './shop-tree.ts'

it.each([
  ['[gone](gone.md)', 'links to gone.md, which is not there'],
  ['[gone](../gone.md#top)', 'links to ../gone.md, which is not there'],
  ['![gone](pictures/gone.png "A picture")', 'links to pictures/gone.png, which is not there'],
  ['[here](here.md) [code](../services/shop/src/app.ts#L1) [folder](../services)', undefined],
  ['[web](https://example.com#top) [mail](mailto:a@example.com) [above](#here)', undefined],
  ['[gone](#gone)', 'links to #gone, which is no heading of docs/here.md'],
  ['[gone](other.md#gone)', 'links to #gone, which is no heading of docs/other.md'],
  ['[each](other.md#get-itemsid-or-_links) [again](other.md#here-1) [a link](other.md#a-link-inside)', undefined],
])('finds in the text %s the problem %s', async (text, message) => {
  const other = '# Here\n\n## `GET /items/:id` or _links\n\n### A [link](here.md) inside\n\n## Here\n'
  const problems = await problemsOf(documentLinks, { 'docs/here.md': `# Here\n\n${text}\n`, 'docs/other.md': other })
  expect(problems).toEqual(message === undefined ? [] : [`docs/here.md:3 ${message}`])
})

it('ignores links in sources', async () => {
  expect(await problemsOf(documentLinks, { 'docs/here.ts': '// [gone](gone.md)\n' })).toEqual([])
})

it('skips code blocks, and counts their lines', async () => {
  const text = '```\n[a-z](?:b)\n```\n[gone](gone.md)\n'
  expect(await problemsOf(documentLinks, { 'docs/here.md': text })).toEqual([
    'docs/here.md:4 links to gone.md, which is not there',
  ])
})

it.each([
  ['a file: `src/items/gone.ts`', 'names src/items/gone.ts, which is not there'],
  ['a folder: `oauth/providers/`', 'names oauth/providers/, which is not there'],
  ['a file of the root: `migrations/gone.ts`', 'names migrations/gone.ts, which is not there'],
  ['from `src/`, from the service, from the root: `items/` `src/items/item-view.ts` `migrations/shop.ts`', undefined],
  ['no paths: `/items/` `GET /items/:itemId` `*.ts` `items/…` `shop.items` `application/json`', undefined],
])('finds in the README of a service that names %s the problem %s', async (text, message) => {
  const problems = await problemsOf(documentLinks, { 'services/shop/README.md': `# Shop\n\n${text}\n` })
  expect(problems).toEqual(message === undefined ? [] : [`services/shop/README.md:3 ${message}`])
})

it.each([
  ['a file: `gone.ts`', 'names gone.ts, which is not there'],
  ['the end of its path: `items/gone.ts`', 'names items/gone.ts, which is not there'],
  ['the end of its path: `item-view.ts` `items/item-view.ts`', undefined],
  ['what a command makes: `dist/` `results.json`', undefined],
])('finds in another document that names %s the problem %s', async (text, message) => {
  const problems = await problemsOf(documentLinks, { 'docs/here.md': `# Here\n\n${text}\n` })
  expect(problems).toEqual(message === undefined ? [] : [`docs/here.md:3 ${message}`])
})

it('leaves the documents of the framework alone, which name files of readers', async () => {
  expect(await problemsOf(documentLinks, { 'docs/reference/endpoints.md': 'the file `foo/gone.ts`\n' })).toEqual([])
})
