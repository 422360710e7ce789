import { dirname, join } from 'node:path'
import ts from 'typescript'

/**
 * Prints the public functions and methods of the JavaScript SDK as its users' compilers see them (name, parameters and
 * options), and its error classes. test/sdk/surface.test.ts compares them with those of the other SDKs.
 */

const root = join(import.meta.dirname, '../..')
const file = join(root, 'sdk/tsconfig.json')
const { options } = ts.parseJsonConfigFileContent(
  ts.readConfigFile(file, ts.sys.readFile).config,
  ts.sys,
  dirname(file),
)
const entries = ['index', 'testing'].map((name) => join(root, `sdk/src/${name}.ts`))
const program = ts.createProgram(entries, { ...options, types: ['node'] })
const checker = program.getTypeChecker()
const [exported, testing] = entries.map((entry) => {
  const symbols = checker.getExportsOfModule(checker.getSymbolAtLocation(program.getSourceFile(entry)))
  return new Map(symbols.map((symbol) => [symbol.name, followAlias(symbol)]))
})

const client = instanceOf(exported.get('Guiche'))
const resources = client.getProperties().map((resource) => [resource.name, checker.getTypeOfSymbol(resource)])
const methods = [
  ...resources,
  ['list', instanceOf(exported.get('List'))],
  ['receiver', instanceOf(testing.get('WebhookReceiver'))],
].flatMap(([name, type]) =>
  type
    .getProperties()
    .filter(({ name: method }) => /^[a-z]/.test(method))
    .flatMap((method) => {
      const [signature] = checker.getTypeOfSymbol(method).getCallSignatures()
      return signature ? [[`${name}.${method.name}`, parametersOf(signature)]] : []
    }),
)
const functions = [...exported, ...testing].flatMap(([name, symbol]) => {
  // The classes of the resources are exported as types: their constructors are not public.
  const type = name === 'Guiche' || symbol.flags & ts.SymbolFlags.Function ? checker.getTypeOfSymbol(symbol) : undefined
  const [signature] = type ? [...type.getConstructSignatures(), ...type.getCallSignatures()] : []
  return signature ? [[name, parametersOf(signature)]] : []
})
const errors = [...exported].flatMap(([name, { flags }]) =>
  name.endsWith('Error') && flags & ts.SymbolFlags.Class ? [name] : [],
)

process.stdout.write(JSON.stringify({ callables: Object.fromEntries([...functions, ...methods]), errors }))

/** The parameters in their order, then the options: the fields of the last parameter. */
function parametersOf(signature) {
  return signature.getParameters().flatMap((parameter, index, { length }) => {
    const declared = parameter.valueDeclaration
    const isOptional = Boolean(declared.questionToken ?? declared.initializer)
    const isDestructured = !ts.isIdentifier(declared.name)
    if (index < length - 1 || !(isDestructured || parameter.name === 'options'))
      return [{ name: parameter.name, isOptional, isOption: false }]
    const type = checker.getNonNullableType(checker.getTypeOfSymbolAtLocation(parameter, declared))
    const fields = type.isUnion() ? type.types.flatMap((one) => one.getProperties()) : type.getProperties()
    return [...new Map(fields.map((field) => [field.name, field])).values()].map((field) => ({
      name: field.name,
      isOptional: isOptional || Boolean(field.flags & ts.SymbolFlags.Optional),
      isOption: true,
    }))
  })
}

function instanceOf(symbol) {
  return checker.getDeclaredTypeOfSymbol(symbol)
}

function followAlias(symbol) {
  return symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol
}
