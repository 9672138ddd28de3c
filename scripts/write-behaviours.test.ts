import { expect, it } from 'vitest'
import { withBehaviours } from './write-behaviours.ts'

it('replaces what is between the comments, and nothing else', () => {
  const page = (text: string) => `# Page\n\n<!-- Written by \`pnpm behaviours\` -->${text}<!-- Until here -->\n\nEnd\n`
  const written = withBehaviours(page('\n\n<an old table>\n\n'))
  expect(written.split('\n\n')[0]).toBe('# Page')
  expect(written.split('\n\n').at(-1)).toBe('End\n')
  expect(written).toContain('| Subject | `compatible` | `supabase` | Why |')
  expect(written).not.toContain('<an old table>')
  expect(withBehaviours(written)).toBe(written)
})

it('refuses a page without the comments', () => {
  expect(() => withBehaviours('# Page\n')).toThrow('the page lacks')
})
