import { expect, it } from 'vitest'
import { catalogueTexts } from './catalogue-texts.ts'
import { problemsOf } from './shop-tree.ts'

const item = 'services/shop/src/items/item.ts'
const problem = 'the text of an error stands in the catalogue: errors.ts, or a file …-errors.ts that it lists'

it.each([
  "z.string().refine(isName, { error: 'must be a name' })",
  "z.string({ error: ({ input }) => 'must be a name' })",
  "z.string().regex(NAME, 'must be a name')",
  'z.string().max(MAX, `at most 255 characters`)',
  "context.addIssue({ code: 'custom', message: 'must be a name' })",
  "const judge = () => ({ problem: 'must be a name' })",
  "const itemGone = defineError(404, 'NOT_FOUND', 'Gone')",
  "throw new HttpError(404, 'NOT_FOUND', { message })",
])('refuses %j beside a check', async (text) => {
  expect(await problemsOf(catalogueTexts, { [item]: `${text}\n` })).toEqual([`${item}:1 ${problem}`])
})

it.each([
  'z.string().refine(isName, { error: FIELD_TEXTS.notName })',
  "const redirect = { error: 'server_error' }",
  "logger.error({ problem }, 'an item could not be stored')",
  '/** The body of an error: `{ code, message }`. */',
])('allows %j beside a check', async (text) => {
  expect(await problemsOf(catalogueTexts, { [item]: `${text}\n` })).toEqual([])
})

it.each([
  'services/shop/src/errors.ts',
  'services/shop/src/field-errors.ts',
  'services/shop/src/config/settings.ts',
  'services/shop/src/items/item.test.ts',
])('allows a text in %s', async (path) => {
  expect(await problemsOf(catalogueTexts, { [path]: "z.string({ error: 'must be a name' })\n" })).toEqual([])
})
