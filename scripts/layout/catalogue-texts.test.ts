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
  "const problem = 'A name is missing'; page({ problem })",
  "const MISSING = 'A name is missing'; throw refused({ message: MISSING })",
  "const MISSING = 'A name is missing'; z.string({ error: MISSING })",
  "const error = 'A name is missing'; z.string().refine(isName, { error })",
  'const MISSING = `A name is missing`; z.string().min(1, MISSING)',
])('refuses %j beside a check', async (text) => {
  expect(await problemsOf(catalogueTexts, { [item]: `${text}\n` })).toEqual([`${item}:1 ${problem}`])
})

it.each([
  'z.string().refine(isName, { error: FIELD_TEXTS.notName })',
  "const redirect = { error: 'server_error' }",
  "const error = 'server_error'; redirect({ error })",
  "const NO_ANSWER = 'no answer in time'; await recordAttempt({ error: NO_ANSWER })",
  "const problem = 'A name is missing'; logger.warn(problem)",
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

const catalogue = 'services/shop/src/item-errors.ts'
const piece = 'write the text of an error whole, in the line of its error: a search from an answer finds it there'

it.each([
  "const GONE = 'Gone'\nexport const itemGone = defineError(404, 'GONE', GONE)",
  `const gone = ({ id }: Item) => \`\${id} is gone\`\nexport const itemGone = defineError(404, 'GONE', gone)`,
  "const GONE = 'Gone'\nexport const itemGone = invalid(GONE)",
  `const invalid = (what: string) =>\n  defineError(400, 'INVALID', \`\${what} is not valid\`)`,
  "export const itemGone = invalid('Gone')\nexport const shopGone = invalid(itemGone.message)",
])('refuses the text in pieces of %j', async (text) => {
  expect(await problemsOf(catalogueTexts, { [catalogue]: `${text}\n` })).toEqual([`${catalogue}:2 ${piece}`])
})

it.each([
  "export const itemGone = defineError(404, 'GONE', 'Gone')",
  `export const itemGone = defineError(404, 'GONE', ({ id }: Item) => \`\${id} is gone\`)`,
  "const invalid = (message: string) => defineError(400, 'INVALID', message)\nexport const itemGone = invalid('Gone')",
  "const RETRY = { 'retry-after': '1' }\nexport const busy = defineError(503, 'BUSY', 'Too busy', RETRY)",
])('allows the whole text of %j', async (text) => {
  expect(await problemsOf(catalogueTexts, { [catalogue]: `${text}\n` })).toEqual([])
})

it.each([
  "const [a, b] = [defineError(403, 'GONE', 'It is gone'), defineError(404, 'GONE', 'It is gone')]",
  `const a = defineError(403, 'GONE', ({ id }: Item) => \`\${id} is gone\`)\nconst b = defineError(404, 'GONE', ({ id }: Item) => \`\${id} is gone\`)`,
])('refuses a text that stands twice: %j', async (text) => {
  const found = await problemsOf(catalogueTexts, { [catalogue]: `${text}\n` })
  expect(found).toEqual([
    expect.stringContaining(`the text stands in ${catalogue} too: write a function that has it, and takes the status`),
  ])
})

it('refuses a text that stands in two catalogues of a service', async () => {
  const text = "export const itemGone = defineError(404, 'GONE', 'It is gone')\n"
  expect(await problemsOf(catalogueTexts, { [catalogue]: text, 'services/shop/src/errors.ts': text })).toHaveLength(1)
})

it.each([
  "const gone = (status: number) => defineError(status, 'GONE', 'It is gone')\nconst a = gone(403)\nconst b = gone(404)",
  "const [a, b] = [defineError(403, 'GONE', 'gone'), defineError(404, 'GONE', 'lost')]",
])('allows one text with several statuses, and codes of several errors: %j', async (text) => {
  expect(await problemsOf(catalogueTexts, { [catalogue]: `${text}\n` })).toEqual([])
})

it('allows services to have the same text', async () => {
  const text = "export const itemGone = defineError(404, 'GONE', 'It is gone')\n"
  expect(
    await problemsOf(catalogueTexts, { 'services/shop/src/errors.ts': text, 'services/till/src/errors.ts': text }),
  ).toEqual([])
})

it('refuses a text of a table that an error of the service has', async () => {
  const table = "export const FIELD_TEXTS = {\n  gone: 'It is gone',\n} as const\n"
  const files = { [catalogue]: "export const itemGone = defineError(404, 'GONE', 'It is gone')\n" }
  expect(await problemsOf(catalogueTexts, { ...files, 'services/shop/src/value-errors.ts': table })).toEqual([
    `services/shop/src/value-errors.ts:2 the text stands in ${catalogue} too: write a function that has it, and takes the status or the code`,
  ])
})

const framework = {
  'packages/endpoints/src/error-texts.ts': `export const VALUE_TEXTS = { unknown: 'is not known here', tooBig: ({ limit }: Bound) => \`at most \${limit}\` }\n`,
}

it.each([
  "export const FIELD_TEXTS = { unknown: 'is not known here' }",
  `export const FIELD_TEXTS = { tooMany: ({ max }: Limit) => \`at most \${max}\` }`,
])('refuses a text of the framework in a service that is built on it: %j', async (text) => {
  const imports = "import { VALUE_TEXTS } from '@trestle/endpoints/error-texts.ts'\n"
  expect(await problemsOf(catalogueTexts, { ...framework, [catalogue]: `${imports}${text}\n` })).toEqual([
    `${catalogue}:2 the text stands in packages/endpoints/src/error-texts.ts too: write a function that has it, and takes the status or the code`,
  ])
  expect(await problemsOf(catalogueTexts, { ...framework, [catalogue]: `${text}\n` })).toEqual([])
})
