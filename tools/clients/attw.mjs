import { readFileSync } from 'node:fs'
import { checkPackage, createPackageFromTarballData } from '@arethetypeswrong/core'

// Prints each problem that "Are the types wrong?" finds in the tarball given as argument, one JSON object a line.

const [, , tarball] = process.argv
if (tarball === undefined) throw new Error('usage: attw.mjs <package.tgz>')
const result = await checkPackage(createPackageFromTarballData(readFileSync(tarball)))
if (!result.types) throw new Error('the package has no types')
for (const problem of result.problems) process.stdout.write(`${JSON.stringify(problem)}\n`)
