/** A name in upper case, as names of settings contain it. TypeScript does not know the result of `toUpperCase`. */
export function toUpperCase<Name extends string>(name: Name): Uppercase<Name> {
  return name.toUpperCase() as Uppercase<Name>
}
