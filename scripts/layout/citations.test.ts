import { describe, expect, it } from 'vitest'
import { citations } from './citations.ts'
import { problemsOf } from './shop-tree.ts'

const item = 'services/shop/src/items/item.ts'
const documents = {
  'docs/reference/shop.md': '# Shop\n\n## Refresh tokens\n\n### 2FA codes/keys\n',
  'docs/reference/endpoints.md': '## Bodies\n',
  'docs/decisions/0008-routes-mirror-urls.md': '',
  'docs/decisions/0012-answer-early.md': '',
}

async function judge(path: string, text: string): Promise<readonly string[]> {
  return problemsOf(citations, { ...documents, [path]: `${text}\n` })
}

describe('a citation of a document that is not in the repository', () => {
  const refused = (path: string, cited: string) =>
    `${path}:1 cites "${cited}", which nobody can open: cite docs/reference as \`reference: Heading\``

  it.each([
    ['// Tokens end (contract 4.8).', 'contract'],
    ['// Contracts 2 and 3 say so.', 'Contracts'],
    ["export const title = 'has the order of the contract'", 'contract'],
    ['/** As the specification has it. */', 'the specification'],
    ['/** Its spec has more. */', 'Its spec'],
    ['// This specification has more.', 'This specification'],
    ['/** A card. @see specification, "Card" */', '@see specification'],
    ['/** A card (specification). */', '(specification'],
    ['/** A card, by spec 2. */', 'spec 2'],
    ['/** A card, by specification, 2. */', 'specification, 2'],
    ['/** A card: see design 8. */', 'design 8'],
    ['/** A card: design, 8. */', 'design, 8'],
    ['/** A card: see design.md. */', 'design.md'],
    ['/** A card: see reference, 24. */', 'reference, 24'],
    ['/** A card: see reference 24. */', 'reference 24'],
    ['// A card, as its\n// spec has it.', 'its spec'],
    ['// A card: see reference,\n  // 24.', 'reference, 24'],
  ])('refuses %s', async (text, cited) => {
    expect(await judge(item, text)).toEqual([refused(item, cited)])
  })

  it.each(['migrations/shop/functions/buy.sql', 'docs/shop.md', 'packages/database/src/connect.test.ts'])(
    'refuses it in %s',
    async (path) => {
      expect(await judge(path, '-- The contract 3.')).toEqual([refused(path, 'contract')])
    },
  )

  it.each([
    '// RFC 6749, section 5.2, and the OpenAPI specification say so.',
    'export const accepts = (spec: Spec) => right(spec.reference, 24)',
    "sql`SELECT right(reference, 24), 'design'`",
    '// Contractors contracted this by design.',
  ])('allows %s', async (text) => {
    expect(await judge(item, text)).toEqual([])
  })

  it('allows a column of SQL, and refuses the same in its comment', async () => {
    const path = 'migrations/shop/functions/buy.sql'
    expect(await judge(path, 'SELECT right(e.reference, 24) FROM e')).toEqual([])
    expect(await judge(path, 'SELECT 1 -- see reference, 24')).toEqual([refused(path, 'reference, 24')])
  })
})

describe('a citation of a reference', () => {
  const lost = 'is no heading of docs/reference'

  it.each([
    '/** Ends a session (reference: Refresh tokens). */',
    '/** Ends a session. @see reference: Refresh tokens */',
    '// Ends a session: reference: Refresh tokens',
    '/* Reads `reference: 2FA codes/keys`, and more */',
    '// Sees reference: Refresh tokens; reference: 2FA codes/keys, or endpoints reference: Bodies.',
    'export const row = { reference: Order }',
    'export const row = { reference: Order } // A row.',
    '// A row.\nexport const row = { reference: Order }',
    '// The code and the reference: both are kept.',
    '// Ends a session (reference: Refresh\n// tokens).',
    '/**\n * Ends a session (reference:\n * Refresh tokens).\n */',
    '// Ends a session: reference: Refresh tokens\n// It goes on.',
    '/**\n * Ends a session: shop\n * reference: Refresh tokens\n *\n * It goes on.\n */',
  ])('resolves %s', async (text) => {
    expect(await judge(item, text)).toEqual([])
  })

  it.each([
    ['/** Ends a session (reference: Refreshing). */', `"Refreshing", which ${lost}/shop.md`],
    ['/** Ends a session (reference: refresh tokens). */', `"refresh tokens", which ${lost}/shop.md`],
    ['// Ends a session: reference: Shop', `"Shop", which ${lost}/shop.md`],
    ['/* Ends a session: reference: Refresh tokens and more */', `"Refresh tokens and more", which ${lost}/shop.md`],
    ['// Ends a session (reference: Refresh tokens\n// and more).', `"Refresh tokens and more", which ${lost}/shop.md`],
    ['// Ends a session (reference:\n// Refreshing).', `"Refreshing", which ${lost}/shop.md`],
    ['// Ends a session: reference: Refreshing\n//\n// More.', `"Refreshing", which ${lost}/shop.md`],
    ['// Ends a session (endpoints\n// reference: Carts).', `"Carts", which ${lost}/endpoints.md`],
    ['// Ends a session: endpoints reference: Refresh tokens', `"Refresh tokens", which ${lost}/endpoints.md`],
  ])('refuses %s', async (text, problem) => {
    expect(await judge(item, text)).toEqual([`${item}:1 cites ${problem}`])
  })

  it.each(['services/shop/test/storm.test.ts', 'migrations/shop.ts', 'migrations/shop/functions/buy.sql'])(
    'resolves only headings of the reference of its own service: %s',
    async (path) => {
      expect(await judge(path, '// -- (reference: Refresh tokens)')).toEqual([])
      expect(await judge(path, '// -- (reference: Bodies)')).toEqual([
        `${path}:1 cites "Bodies", which ${lost}/shop.md`,
      ])
    },
  )

  it('is read over the lines of a comment in SQL', async () => {
    const path = 'migrations/shop/functions/buy.sql'
    expect(await judge(path, '-- Buys. (reference:\n-- Refresh tokens)\nSELECT 1')).toEqual([])
    expect(await judge(path, '-- Buys.\n-- It pays. (reference:\n-- Buying)\nSELECT 1')).toEqual([
      `${path}:2 cites "Buying", which ${lost}/shop.md`,
    ])
  })

  it('resolves a heading in the reference of the framework', async () => {
    const path = 'packages/endpoints/src/body/read.ts'
    expect(await judge(path, '// (reference: Bodies)')).toEqual([])
    expect(await judge(path, '// (reference: Refresh tokens)')).toEqual([
      `${path}:1 cites "Refresh tokens", which ${lost}/endpoints.md`,
    ])
  })

  it.each(['packages/database/src/connect.ts', 'bench/src/load.ts', 'migrations/functions.ts'])(
    'has to be named in %s',
    async (path) => {
      expect(await judge(path, '// (shop reference: Refresh tokens)')).toEqual([])
      expect(await judge(path, '// (shop reference: Bodies)')).toEqual([
        `${path}:1 cites "Bodies", which ${lost}/shop.md`,
      ])
      expect(await judge(path, '// (reference: Refresh tokens)')).toHaveLength(1)
    },
  )

  it('is refused when it names no reference', async () => {
    expect(await judge('bench/src/load.ts', '// (reference: Refresh tokens)')).toEqual([
      'bench/src/load.ts:1 cites "Refresh tokens" of no reference: write the name of the reference before it',
    ])
  })

  it('counts in a document only with the name of the reference', async () => {
    expect(await judge('docs/shop.md', 'A reference: Anything. See shop reference: Refresh tokens')).toEqual([])
    expect(await judge('docs/shop.md', 'See shop reference: Refreshing')).toEqual([
      `docs/shop.md:1 cites "Refreshing", which ${lost}/shop.md`,
    ])
  })
})

describe('a heading of a reference', () => {
  const path = 'docs/reference/shop.md'

  it.each([
    ['## Carts\n\n### Carts', 'Carts'],
    ['## Carts (old)', 'Carts (old)'],
    ['## Carts, items', 'Carts, items'],
    ['## `carts`', '`carts`'],
  ])('refuses the heading %j', async (text, heading) => {
    expect(await judge(path, text)).toEqual([
      `${path} "${heading}" cannot be cited: a heading stands once, in letters, digits, spaces, hyphens and slashes`,
    ])
  })

  it('may be anything in another document', async () => {
    expect(await judge('docs/reference/departures.md', '## Carts, items\n\n## Carts, items')).toEqual([])
  })
})

describe('a citation of a decision', () => {
  it.each([
    ['// See decision 8, and decisions 8, 12 and 8.', []],
    ['// See decision 9.', [9]],
    ['// Decisions 8, 9 and 10 say so.', [9, 10]],
    ['// Decisions 8, 9\n// and 10 say so.', [9, 10]],
  ])('refuses in %j the decisions %j, which are unknown', async (text, unknown) => {
    expect(await judge(item, text)).toEqual(
      unknown.map((number) => `${item}:1 cites decision ${number}, which is not in docs/decisions`),
    )
  })
})

it('ignores the examples in its own files', async () => {
  expect(await judge('scripts/layout/citations.ts', '// Contract 4.')).toEqual([])
  expect(await judge('scripts/layout/citations.test.ts', '// Contract 4.')).toEqual([])
  expect(await judge('scripts/layout/arrows.ts', '// Contract 4.')).toHaveLength(1)
})
