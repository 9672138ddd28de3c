import { type Problem, productionFiles, type Rule } from './source-tree.ts'
import { importsOf } from './syntax.ts'

const core = 'packages/endpoints/src'
const programs = /^packages\/endpoints\/src\/(main\.ts$|cli\/)/
const allowed = /^(\.|zod$|acorn$|leven$|multipasta$)/

/**
 * The framework runs where there is no Node.js. So everything but its program imports nothing of Node.js or Fastify, types
 * excepted, and only packages that an installation has.
 */
export const portableCore: Rule = (tree) =>
  productionFiles(tree, core)
    .filter(({ path }) => !programs.test(path))
    .flatMap((file) =>
      importsOf(file)
        .filter(({ specifier, isType }) => !isType && specifier !== '' && !allowed.test(specifier))
        .map(
          ({ specifier, line }): Problem => ({
            path: file.path,
            line,
            message: `the core of the framework imports zod, acorn, leven and multipasta alone (${specifier})`,
          }),
        ),
    )
