import { describe, expect, it } from 'vitest'
import { problemsOf } from './shop-tree.ts'
import { thrownOnce } from './thrown-once.ts'

const [buy, sell] = ['services/shop/src/items/buy.ts', 'services/shop/src/items/sell.ts']
const body = 'services/shop/src/error-body.ts'
const IMPORT = "import { ITEM_TEXTS, itemGone, itemText, serverBusy } from '../errors.ts'\n"
const VOCABULARY = "import { errorVocabulary, toBody } from '../error-body.ts'\n"
const WHOLE = "import * as errors from './errors.ts'\n"
const THROW = `${IMPORT}export const buy = () => {\n  throw itemGone()\n}\n`
const refused = (path: string, line: number, first = buy) =>
  `${path}:${line} itemGone is made in ${first} too: share a function, or list it in scripts/layout/thrown-once.ts`

describe('errors of a catalogue', () => {
  it.each([
    ['thrown in two files', { [buy]: THROW, [sell]: THROW }, [refused(sell, 3)]],
    ['thrown twice in a file', { [buy]: `${THROW}export const sell = () => itemGone()\n` }, [refused(buy, 5)]],
    ['thrown and handed on', { [buy]: THROW, [sell]: `${IMPORT}open({ refuse: itemGone })\n` }, [refused(sell, 2)]],
    [
      'thrown and returned',
      { [buy]: THROW, [sell]: `${IMPORT}function f() { return itemGone }\n` },
      [refused(sell, 2)],
    ],
    ['thrown and given to a function', { [buy]: THROW, [sell]: `${IMPORT}refuse(1, itemGone)\n` }, [refused(sell, 2)]],
    [
      'given to a function in two files',
      { [buy]: `${IMPORT}refuse(itemGone)\n`, [sell]: `${IMPORT}new Gate(itemGone)\n` },
      [refused(sell, 2)],
    ],
    ['thrown and listed', { [buy]: THROW, [sell]: `${IMPORT}const all = [itemGone]\n` }, [refused(sell, 2)]],
    ['thrown and named anew', { [buy]: THROW, [sell]: `${IMPORT}const gone = itemGone\n` }, [refused(sell, 2)]],
    ['thrown and a member', { [buy]: THROW, [sell]: `${IMPORT}open({ itemGone })\n` }, [refused(sell, 2)]],
    [
      'thrown and a default',
      { [buy]: THROW, [sell]: `${IMPORT}const f = (e = itemGone) => e()\n` },
      [refused(sell, 2)],
    ],
    ['thrown and chosen', { [buy]: THROW, [sell]: `${IMPORT}const f = (a) => a ? itemGone : 0\n` }, [refused(sell, 2)]],
    [
      'thrown and asked of the vocabulary',
      { [buy]: THROW, [sell]: `${VOCABULARY}const a = errorVocabulary.itemGone()\n` },
      [refused(sell, 2)],
    ],
    [
      'asked of the vocabulary by optional calls in two files',
      {
        [buy]: `${VOCABULARY}const a = errorVocabulary.itemGone?.(1)\n`,
        [sell]: `${VOCABULARY}throw errorVocabulary.itemGone()\n`,
      },
      [refused(sell, 2)],
    ],
    [
      'translated twice',
      { [body]: `${WHOLE}const a = errors.itemGone()\nconst b = { c: errors.itemGone }\n` },
      [refused(body, 3, body)],
    ],
  ])('are refused where they are %s', async (_what, files, problems) => {
    expect(await problemsOf(thrownOnce, files)).toEqual(problems)
  })

  it.each([
    ['thrown once', { [buy]: THROW }],
    ['thrown once, and translated once', { [buy]: THROW, [body]: `${WHOLE}const a = errors.itemGone()\n` }],
    [
      'thrown once, and answered by the vocabulary',
      { [buy]: THROW, [sell]: `${VOCABULARY}toBody(errorVocabulary, 1)\n` },
    ],
    ['thrown by two services', { [buy]: THROW, [buy.replace('shop', 'bar')]: THROW }],
    ['thrown, and asked for their code', { [buy]: THROW, [sell]: `${IMPORT}const code = itemGone.code\n` }],
    ['listed', { [buy]: THROW.replace('itemGone()', 'serverBusy()'), [sell]: `${IMPORT}const a = serverBusy()\n` }],
    ['texts of values', { [buy]: `${IMPORT}const a = [itemText(1), itemText(2), ITEM_TEXTS(1), ITEM_TEXTS(2)]\n` }],
    ['of the same name elsewhere', { [buy]: THROW, [sell]: 'const itemGone = () => 0\nconst a = itemGone()\n' }],
    ['thrown by a test', { [buy]: THROW, [sell.replace('.ts', '.test.ts')]: THROW }],
  ])('are allowed where they are %s', async (_what, files) => {
    expect(await problemsOf(thrownOnce, files)).toEqual([])
  })
})
