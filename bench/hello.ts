import fastify from 'fastify'

// The minimum of a Fastify server: a route that says hello, and one that returns the JSON it received.
const app = fastify()
app.get('/hello', async () => ({ hello: 'world' }))
app.post('/echo', async (request) => request.body)
await app.listen({ host: '127.0.0.1', port: Number(process.env.PORT) })
