module modules

go 1.24
