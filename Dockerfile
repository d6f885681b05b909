# docker build -t gritvq . && docker run --rm -v "$PWD:/data" gritvq train vectors.npy -o tok
FROM golang:1.27.3 AS build
WORKDIR /source
COPY go.mod go.sum ./
RUN go mod download
COPY . .
RUN CGO_ENABLED=0 GOEXPERIMENT=simd go build -trimpath -ldflags "-s -w" -o /gritvq ./cmd/gritvq && mkdir -p /empty/tmp /empty/data

# The program is static: the image has nothing else.
FROM scratch
COPY --from=build /empty/ /
COPY --from=build /gritvq /gritvq
WORKDIR /data
ENTRYPOINT ["/gritvq"]
