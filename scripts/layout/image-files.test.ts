import { expect, it } from 'vitest'
import { imageFiles } from './image-files.ts'
import { problemsOf } from './shop-tree.ts'

const files = {
  'packages/stack/src/stack.ts': 'export {}\n',
  'packages/testing/src/stub.ts': 'export {}\n',
  'services/shop/src/items/item.test.ts': 'export {}\n',
  'services/shop/test/storm.ts': 'export {}\n',
  'migrations/shop/functions/buy.sql': 'SELECT 1;\n',
}

it.each([
  [undefined, []],
  ['*\n!services\n# **/routes\n', []],
  ['**/*.test.ts\nservices/*/test\npackages/stack\npackages/testing\ndocs\n', []],
  ['**/routes\n', ['**/routes leaves services/shop/src/routes/items.ts out of the images']],
  ['services/shop/src/app.ts\n', ['services/shop/src/app.ts leaves services/shop/src/app.ts out of the images']],
  ['packages/database\n', ['packages/database leaves packages/database/src/connect.ts out of the images']],
  ['**/0001-*\n', ['**/0001-* leaves migrations/shop/0001-create-items.ts out of the images']],
  ['**/*.sql\n', ['**/*.sql leaves migrations/shop/functions/buy.sql out of the images']],
])('names what %j leaves out of the images', async (ignored, problems) => {
  expect(await problemsOf(imageFiles, { ...files, '.dockerignore': ignored })).toEqual(
    problems.map((problem) => `.dockerignore ${problem}`),
  )
})
