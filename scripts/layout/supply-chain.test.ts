import { describe, expect, it } from 'vitest'
import { problemsOf } from './shop-tree.ts'
import { imageFiles, pinnedActions, pinnedImages, unlicensedPackages } from './supply-chain.ts'

describe('pinnedImages', () => {
  const compose = (image: string) => `services:\n  shop:\n    image: ${image}\n`

  it.each(['postgres:18-bookworm', 'prom/prometheus:v3.5.0', 'trestle-shop'])('accepts %s', async (image) => {
    expect(await problemsOf(pinnedImages, { 'docker-compose.yml': compose(image) })).toEqual([])
  })

  it.each(['grafana/grafana', 'grafana/grafana:latest', 'localhost:5000/shop'])('refuses %s', async (image) => {
    expect(await problemsOf(pinnedImages, { 'docker-compose.yml': compose(image) })).toEqual([
      `docker-compose.yml:3 names the image ${image} without a version`,
    ])
  })
})

describe('pinnedActions', () => {
  const commit = 'a'.repeat(40)

  it.each([
    [`  - uses: actions/checkout@${commit} # v4.2.2`, undefined],
    [`    uses: actions/cache/save@${commit} # v4.2.2`, undefined],
    ['  - uses: ./.github/actions/own', undefined],
    [`  - uses: docker/build-push-action@${commit}`, `docker/build-push-action@${commit}`],
    [`  - uses: actions/checkout@${commit} # main`, `actions/checkout@${commit} # main`],
    [`  - uses: actions/checkout@${commit.slice(1)} # v4.2.2`, `actions/checkout@${commit.slice(1)} # v4.2.2`],
    ['  - uses: actions/checkout@v4', 'actions/checkout@v4'],
    ['    uses: actions/checkout@v4', 'actions/checkout@v4'],
  ])('finds in the line %s the unpinned action %s', async (line, action) => {
    const path = '.github/workflows/ci.yml'
    const problems = action === undefined ? [] : [`${path}:2 names ${action} by no commit with its version`]
    expect(await problemsOf(pinnedActions, { [path]: `steps:\n${line}\n` })).toEqual(problems)
  })
})

describe('imageFiles', () => {
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
})

describe('unlicensedPackages', () => {
  const message = 'depends on @paylike/request, which declares no licence: only tests and examples may use it'

  const path = 'services/shop/package.json'

  it.each([
    [path, { devDependencies: { '@paylike/request': 'catalog:' } }, false],
    [path, { dependencies: { '@paylike/sdk': 'catalog:' } }, false],
    [path, { dependencies: { '@paylike/request': 'catalog:' } }, true],
    [path, { optionalDependencies: { '@paylike/request': '3.0.2' } }, true],
    [path, { peerDependencies: { '@paylike/request': '3.0.2' } }, true],
    ['package.json', { dependencies: { '@paylike/request': 'catalog:' } }, true],
    ['migrations/package.json', { dependencies: { '@paylike/request': 'catalog:' } }, true],
    ['packages/database/package.json', { dependencies: { '@paylike/request': 'catalog:' } }, true],
    ['examples/shop/package.json', { dependencies: { '@paylike/request': 'catalog:' } }, false],
  ])('a package without a licence in %s, %j, is refused: %j', async (file, manifest, isRefused) => {
    const problems = await problemsOf(unlicensedPackages, { [file]: JSON.stringify({ name: 'shop', ...manifest }) })
    expect(problems).toEqual(isRefused ? [`${file} ${message}`] : [])
  })
})
