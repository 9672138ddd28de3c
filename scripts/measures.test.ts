import { expect, it } from 'vitest'
import { treeOfShop } from './layout/shop-tree.ts'
import { cyclesOf, measure, report } from './measures.ts'

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

it('prints a line for each area, then tests, cycles and walks', () => {
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
  ])
})
