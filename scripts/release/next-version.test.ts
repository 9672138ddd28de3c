import { expect, it } from 'vitest'
import { nextVersion } from './next-version.ts'

it.each([
  ['0.1.9', '### Fixed\n\n- A hole.', '0.1.10'],
  ['0.1.9', '- Something.', '0.1.10'],
  ['0.1.9', '### Added\n\n- Refunds.', '0.2.0'],
  ['1.4.2', '### Changed\n\n- Faster.', '1.5.0'],
  ['1.4.2', '### Security\n\n- A hole.', '1.4.3'],
  ['0.9.1', '### Removed\n\n- XML.', '0.10.0'],
  ['1.4.2', '### Removed\n\n- XML.', '2.0.0'],
  ['1.4.2', '### Fixed\n\n- BREAKING: the answer is 404.', '2.0.0'],
])('%s and %j: %s', (current, section, next) => {
  expect(nextVersion(current, section)).toBe(next)
})
