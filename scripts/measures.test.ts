import { expect, it } from 'vitest'
import { graphOf } from './layout/import-graph.ts'
import { treeOfShop } from './layout/shop-tree.ts'
import { actsOf, cyclesOf, measure, report } from './measures.ts'

const src = 'services/shop/src'
const linesOf = (count: number) => 'const a = 1\n'.repeat(count)

it('measures files, functions, folders and use cases, tests left out', () => {
  const tree = treeOfShop({
    'packages/ink/src/a.ts': linesOf(10),
    'packages/ink/src/pens/b.ts': `export function long() {\n${linesOf(60)}}\nexport const short = () => 1\n`,
    'packages/ink/src/pens/b.test.ts': linesOf(400),
  })
  expect(measure(tree, 'packages/ink')).toEqual({
    files: 2,
    lines: 73,
    linesMedian: 10,
    linesP95: 63,
    linesMax: 63,
    folders: 1,
    useCases: 0,
    functionMedian: 62,
    longFunctions: 1,
  })
  expect(measure(tree, `${src}/use-cases`).useCases).toBe(1)
})

it.each([
  [{ a: ['b'], b: ['c'], c: [] }, []],
  [{ a: ['b'], b: ['a', 'c'], c: ['a'], d: ['a'] }, [['a', 'b', 'c']]],
  [{ a: ['a'], b: ['c'], c: ['b'] }, [['a'], ['b', 'c']]],
])('finds the cycles of %j', (graph, cycles) => {
  expect(cyclesOf(new Map(Object.entries(graph)))).toEqual(cycles)
})

it('counts the files of an act without deps.ts, and what a use case reaches', () => {
  const tree = treeOfShop({
    [`${src}/routes/items.ts`]: "import '../use-cases/list-items.ts'\nimport '../app.ts'\n",
    [`${src}/use-cases/list-items.ts`]: "import '../deps.ts'\nimport '../items/item-repository.ts'\n",
    [`${src}/items/item-repository.ts`]: "import '../items/item-view.ts'\n",
    [`${src}/deps.ts`]: '',
  })
  expect(actsOf(graphOf(tree), 'shop')).toEqual({ acts: [4], closures: [4] })
})

it('prints a line for each area, then tests, cycles, lines, acts and walks', () => {
  const text = report(treeOfShop())
  expect(text.split('\n').map((line) => line.split(/\s+/).slice(0, 2).join(' '))).toEqual([
    'name files',
    'shop 7',
    'packages 1',
    'migrations 2',
    'scripts 0',
    'bench 0',
    'without bench',
    '1 test',
    '0 cycles',
    '23 production',
    'shop: an',
  ])
})
